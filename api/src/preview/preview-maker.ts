// Previews of results. The first request makes a preview and stores it beside the result, so an unseen result costs
// nothing, and a gallery costs once.
import { MatteError } from '@matte/core/error'
import { createFairGate } from '@matte/core/runtime/concurrency/fair-gate'
import type { Bucket } from '@matte/core/storage/bucket'
import { StorageError } from '@matte/core/storage/storage-error'
import { sharedCalls } from './shared-calls.ts'

export type PreviewStore = Pick<Bucket, 'get' | 'put'>

export type PreviewedResult = {
  readonly workspaceId: string
  readonly key: string
  readonly previewKey: string
  readonly sizeBytes: number
}

type Asked = {
  /** The caller has left. */
  readonly signal: AbortSignal
  /** Called before a preview is made, and not for a stored one. @throws MatteError if the workspace has made too many */
  readonly pay: () => Promise<void>
}

type PreviewMaker = {
  /**
   * WebP of at most `previewSidePx` a side. Concurrent calls for one result share the work.
   * @throws MatteError CONFLICT for a result too large, NOT_FOUND, TASK_STORAGE_UNAVAILABLE; the signal's reason
   */
  read(result: PreviewedResult, asked: Asked): Promise<Buffer>
}

type MakerDeps = {
  readonly bucket: PreviewStore
  /** The preview was sent, but the next request makes it again. */
  readonly onNotStored: (error: unknown, previewKey: string) => void
}

/** One and a half times the side of a tile of the console's gallery. */
export const previewSidePx = 320

/** A cut-out of 40 megapixels as PNG. libvips decodes by rows, so a preview takes little more memory than the file. */
const resultBytesMax = 64 * 1024 * 1024

/** Far above the size of a WebP of this side. */
const previewBytesMax = 1024 * 1024

/** Each holds a file in memory and a thread of Node's pool of four, which password hashes need too. */
const atOnceMax = 2
/** Leaves the other turn to other workspaces. */
const perWorkspaceMax = 1

/** The caller waits, and the preview is made again if it could not be stored. */
const putTimeoutMs = 2_000

export function previewMaker({ bucket, onNotStored }: MakerDeps): PreviewMaker {
  const gate = createFairGate(atOnceMax, perWorkspaceMax)
  const shared = sharedCalls<Buffer>()

  const make = ({ workspaceId, key }: PreviewedResult, signal: AbortSignal): Promise<Buffer> =>
    gate.run(workspaceId, async () => {
      const file = await readObject(bucket, key, { maxBytes: resultBytesMax, signal })
      if (file === undefined) throw new MatteError('NOT_FOUND', 'This result is no longer kept.')
      return scale(file)
    })

  async function store(previewKey: string, preview: Buffer): Promise<void> {
    try {
      const signal = AbortSignal.timeout(putTimeoutMs)
      await bucket.put(previewKey, preview, { contentType: 'image/webp', signal })
    } catch (error) {
      onNotStored(error, previewKey)
    }
  }

  return {
    read: async (result, { signal, pay }) => {
      const { previewKey, sizeBytes } = result
      if (sizeBytes > resultBytesMax) throw new MatteError('CONFLICT', tooLarge)
      return shared.run(previewKey, signal, async (unwanted) => {
        const stored = await readObject(bucket, previewKey, { maxBytes: previewBytesMax, signal: unwanted })
        if (stored !== undefined) return stored
        await pay()
        const preview = await make(result, unwanted)
        await store(previewKey, preview)
        return preview
      })
    },
  }
}

const tooLarge = `Results of more than ${resultBytesMax / 1024 / 1024} MiB have no preview; download the result.`

/** Undefined: there is no such object. */
async function readObject(
  bucket: PreviewStore,
  key: string,
  options: { readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<Buffer | undefined> {
  try {
    return await bucket.get(key, options)
  } catch (error) {
    if (!(error instanceof StorageError)) throw error
    if (error.kind === 'missing') return undefined
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
