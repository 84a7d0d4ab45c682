// What the bench compares that needs no other program: the product's own functions, and the same model merely resized.
import { cutOut } from '@matte/controller/worker/image/cut-out/cut-out'
import type { Photo } from '@matte/controller/worker/image/decode'
import { encodePng } from '@matte/controller/worker/image/encode-png'
import { toModelInput } from '@matte/controller/worker/image/model-input'
import { joinMasks } from '@matte/controller/worker/masks/join-masks'
import { mirror, mirrorBack } from '@matte/controller/worker/masks/mirror'
import sharp from 'sharp'
import type { Network } from './model.ts'
import type { Variant } from './variant.ts'

/** The whole way of a task with one view of the photo, its file included. */
const ours: Variant = async (photo, { ask, size }) => finish(photo, await ask(await toModelInput(photo, size)))

/** The same with two views, as `matte.views` 2 asks for. */
const oursTwoViews: Variant = async (photo, { ask, size }) => {
  const image = await toModelInput(photo, size)
  const mask = Uint8Array.from(await ask(image))
  joinMasks(mask, mirrorBack(await ask(mirror(image, size)), size), photo)
  return finish(photo, mask)
}

async function finish(photo: Photo, mask: Uint8Array): Promise<Buffer> {
  const { rgba, width, height, foreground } = cutOut(photo, mask)
  const file = encodePng({ pixels: rgba, channels: 4, width, height, foreground })
  return sharp(file, { limitInputPixels: false }).ensureAlpha().raw().toBuffer()
}

/** The mask stretched to the photo's size, over the photo's own colours. */
const resize: Variant = async (photo, network) => {
  const { pixels, width, height, channels } = photo
  const alpha = await enlargeMask(photo, network)
  const rgba = new Uint8Array(width * height * 4)
  for (let i = 0, j = 0, k = 0; k < alpha.length; i += channels, j += 4, k++) {
    rgba[j] = pixels[i] as number
    rgba[j + 1] = pixels[i + 1] as number
    rgba[j + 2] = pixels[i + 2] as number
    rgba[j + 3] = alpha[k] as number
  }
  return rgba
}

async function enlargeMask(photo: Photo, { ask, size }: Network): Promise<Buffer> {
  const mask = await ask(await toModelInput(photo, size))
  return sharp(mask, { raw: { width: size, height: size, channels: 1 } })
    .resize({ width: photo.width, height: photo.height, fit: 'fill', kernel: 'linear' })
    .toColourspace('b-w')
    .raw()
    .toBuffer()
}

/** What a perfect network of the same size would give: the true alpha at the size of a mask, and then our own steps. */
const trueMask: Variant = async (photo, { size }, { rgba, width, height }) => {
  const alpha = await sharp(rgba, { raw: { width, height, channels: 4 } })
    .extractChannel(3)
    .raw()
    .toBuffer()
  const mask = await sharp(alpha, { raw: { width, height, channels: 1 } })
    .resize(size, size, { fit: 'fill', kernel: 'linear', fastShrinkOnLoad: false })
    .toColourspace('b-w')
    .raw()
    .toBuffer()
  return finish(photo, mask)
}

/** What perfect colours would give: those of the truth under our alpha. */
const trueColours: Variant = async (photo, network, truth) => {
  const rgba = Uint8Array.from(truth.rgba)
  const own = await oursTwoViews(photo, network, truth)
  for (let i = 3; i < rgba.length; i += 4) rgba[i] = own[i] as number
  return rgba
}

export const ownVariants: Readonly<Record<string, Variant>> = {
  ours,
  'ours-two-views': oursTwoViews,
  resize,
  'true-mask': trueMask,
  'true-colours': trueColours,
}
