// What the bench compares that needs no other program: the product's own functions, and the same model merely resized.
import { cutOut } from '@matte/controller/worker/image/cut-out/cut-out'
import type { Photo } from '@matte/controller/worker/image/decode'
import { encodePng } from '@matte/controller/worker/image/encode-png'
import { toModelInput } from '@matte/controller/worker/image/model-input'
import { joinMirrored } from '@matte/controller/worker/views/join-masks'
import { mirror } from '@matte/controller/worker/views/mirror'
import sharp from 'sharp'
import type { Ask } from './model.ts'
import type { Variant } from './variant.ts'

const maskSize = 320

/** The whole way of a task with one view of the photo, its file included. */
const ours: Variant = async (photo, ask) => finish(photo, await ask(await toModelInput(photo, maskSize)))

/** The same with two views, as `matte.views` 2 asks for. */
const oursTwoViews: Variant = async (photo, ask) => {
  const image = await toModelInput(photo, maskSize)
  const mask = Uint8Array.from(await ask(image))
  joinMirrored(mask, await ask(mirror(image, maskSize)), maskSize)
  return finish(photo, mask)
}

async function finish(photo: Photo, mask: Uint8Array): Promise<Buffer> {
  const { rgba, width, height, foreground } = cutOut(photo, mask)
  const file = encodePng({ pixels: rgba, channels: 4, width, height, foreground })
  return sharp(file, { limitInputPixels: false }).ensureAlpha().raw().toBuffer()
}

/** The mask stretched to the photo's size, over the photo's own colours. */
const resize: Variant = async (photo, ask) => {
  const { pixels, width, height, channels } = photo
  const alpha = await enlargeMask(photo, ask)
  const rgba = new Uint8Array(width * height * 4)
  for (let i = 0, j = 0, k = 0; k < alpha.length; i += channels, j += 4, k++) {
    rgba[j] = pixels[i] as number
    rgba[j + 1] = pixels[i + 1] as number
    rgba[j + 2] = pixels[i + 2] as number
    rgba[j + 3] = alpha[k] as number
  }
  return rgba
}

async function enlargeMask(photo: Photo, ask: Ask): Promise<Buffer> {
  const mask = await ask(await toModelInput(photo, maskSize))
  return sharp(mask, { raw: { width: maskSize, height: maskSize, channels: 1 } })
    .resize({ width: photo.width, height: photo.height, fit: 'fill', kernel: 'linear' })
    .toColourspace('b-w')
    .raw()
    .toBuffer()
}

export const ownVariants: Readonly<Record<string, Variant>> = { ours, 'ours-two-views': oursTwoViews, resize }
