import { MatteError } from '@matte/core/error'
import type { Bucket } from '@matte/core/storage/bucket'
import { StorageError } from '@matte/core/storage/storage-error'
import pLimit from 'p-limit'

type Result = { readonly key: string; readonly sizeBytes: number }

export type PreviewMaker = {
  /** WebP of at most `previewSidePx` a side. @throws MatteError, the signal's reason */
  make(result: Result, signal: AbortSignal): Promise<Buffer>
}

/** One and a half times the side of a tile of the console's gallery. */
export const previewSidePx = 320

/** A cut-out of 40 megapixels as PNG. libvips decodes by rows, so a preview takes little more memory than the file. */
const resultBytesMax = 64 * 1024 * 1024

/** Each holds a file in memory and a thread of Node's pool of four, which password hashes need too. */
const atOnceMax = 2

/** Scales a result on each request, so unseen results cost nothing. */
export function previewMaker(bucket: Pick<Bucket, 'get'>): PreviewMaker {
  const inTurn = pLimit(atOnceMax)
  return {
    make: ({ key, sizeBytes }, signal) =>
      inTurn(async () => {
        signal.throwIfAborted()
        if (sizeBytes > resultBytesMax) throw new MatteError('CONFLICT', tooLarge)
        return await scale(await read(bucket, key, signal))
      }),
  }
}

const tooLarge = `Results of more than ${resultBytesMax / 1024 / 1024} MiB have no preview; download the result.`

async function read(bucket: Pick<Bucket, 'get'>, key: string, signal: AbortSignal): Promise<Buffer> {
  try {
    return await bucket.get(key, { maxBytes: resultBytesMax, signal })
  } catch (error) {
    if (!(error instanceof StorageError)) throw error
    if (error.kind === 'missing') throw new MatteError('NOT_FOUND', 'This result is no longer kept.')
    throw new MatteError('TASK_STORAGE_UNAVAILABLE', 'The object store is unavailable. Try again.', { cause: error })
  }
}

/** 10 CPU ms for a result of 0.3 megapixels, 22 for 1 and 125 for 12, most of it decoding. */
const webpOptions = { quality: 70, alphaQuality: 50, effort: 2 } as const

async function scale(file: Buffer): Promise<Buffer> {
  const sharp = await loadSharp()
  return await sharp(file, { limitInputPixels: false })
    .resize({ width: previewSidePx, height: previewSidePx, fit: 'inside', withoutEnlargement: true })
    .webp(webpOptions)
    .toBuffer()
}

/** Loaded by the first preview: libvips takes 20 MB, and an API without console never needs it. */
async function loadSharp() {
  const { default: sharp } = await import('sharp')
  sharp.concurrency(1)
  sharp.cache(false)
  return sharp
}
