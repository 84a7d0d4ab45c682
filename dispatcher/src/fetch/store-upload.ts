// Stores an image by the presigned URL of its row, so this process needs no keys of the object store.
import { Readable } from 'node:stream'
import { Agent, request } from 'undici'

type Image = { readonly chunks: readonly Buffer[]; readonly sizeBytes: number; readonly contentType: string }

export type StoreUpload = {
  /** @throws Error unless the store accepted the object */
  put(uploadUrl: string, image: Image, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** A healthy store takes 20 MB in a second. */
export const storeTimeoutMs = 10_000

export function storeUpload(): StoreUpload {
  const agent = new Agent({ connect: { timeout: 1_000 }, headersTimeout: storeTimeoutMs, bodyTimeout: storeTimeoutMs })
  return {
    put: async (uploadUrl, { chunks, sizeBytes, contentType }, signal) => {
      const { statusCode, body } = await request(uploadUrl, {
        dispatcher: agent,
        method: 'PUT',
        headers: { 'content-type': contentType, 'content-length': String(sizeBytes) },
        body: Readable.from(chunks, { objectMode: false }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(storeTimeoutMs)]),
      })
      await body.dump()
      // The answer may repeat the signature, which must not be logged.
      if (statusCode < 200 || statusCode > 299) throw new Error(`the object store answered ${statusCode}`)
    },
    close: () => agent.destroy(),
  }
}
