// Variants that need no other program: the product's functions, and the resized mask.

import { joinMasks } from '@matte/controller/worker/augmentation/join-masks'
import { mirror, mirrorBack } from '@matte/controller/worker/augmentation/mirror'
import { cutOut } from '@matte/controller/worker/image/cut-out/cut-out'
import type { Photo } from '@matte/controller/worker/image/cut-out/sample-cells'
import { encodePng } from '@matte/controller/worker/image/encode-png'
import { toModelInput } from '@matte/controller/worker/image/model-input'
import sharp from 'sharp'
import type { Network } from './model.ts'
import type { Variant } from './variant.ts'

/** A whole task with one view, including the file. */
const ours: Variant = async (photo, { ask, size }) => finish(photo, await ask(await toModelInput(photo, size)))

/** The same with two views. */
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

/** Upper bound for the network: the true alpha at mask size, then the product's steps. */
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

/** Upper bound for colours: the true colours under the product's alpha. */
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
