import sharp from 'sharp'
import type { ImagePool } from './image-pool.ts'
import type { SharpCalls } from './sharp-calls.ts'

/** Sides of the invented photo and of its mask, in pixels. */
const [width, height, maskSize] = [640, 480, 320]
/** V8 compiles the loops over pixels during the first image. */
const roundsPerThread = 2

type WarmUpDeps = { readonly images: ImagePool; readonly sharpCalls: SharpCalls; readonly threads: number }

/**
 * Takes an invented photo through all steps but the inference, so the first task of a process meets compiled code and
 * started threads.
 */
export async function warmUp({ images, sharpCalls, threads }: WarmUpDeps, signal: AbortSignal): Promise<void> {
  const raw = { width, height, channels: 3 } as const
  const file = await sharp(stripes(), { raw }).jpeg().toBuffer()
  const pixelsMax = width * height
  const once = async (): Promise<void> => {
    const header = await sharpCalls.readHeader(signal, file, pixelsMax)
    const photo = await sharpCalls.decodePhoto(signal, file, pixelsMax, header)
    await sharpCalls.toModelInput(signal, photo, maskSize)
    await images.cutOut({ photo, mask: disc(), mirrored: disc(), output: null }, signal)
  }
  for (let round = 0; round < roundsPerThread; round++) await Promise.all(Array.from({ length: threads }, once))
}

/** Colours that change in both directions, so that no step has an easy case. */
function stripes(): Uint8Array {
  const pixels = new Uint8Array(width * height * 3)
  for (let at = 0; at < pixels.length; at++) pixels[at] = (at * 7 + Math.floor(at / (width * 3)) * 13) % 256
  return pixels
}

/** A mask with a soft edge, which refinement works on. */
function disc(): Uint8Array {
  const [middle, radius, soft] = [maskSize / 2, maskSize / 3, 12]
  const mask = new Uint8Array(maskSize * maskSize)
  for (let at = 0; at < mask.length; at++) {
    const distance = Math.hypot((at % maskSize) - middle, Math.floor(at / maskSize) - middle)
    mask[at] = Math.max(0, Math.min(1, (radius - distance) / soft + 0.5)) * 255
  }
  return mask
}
