import { MatteError } from './error.ts'

/** An image that is to be uploaded. */
export type Source = {
  readonly fileName: string
  /** Empty if the format is unknown. */
  readonly contentType: string
  readonly sizeBytes: number
  /** Reads it from the beginning. */
  stream(): AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>
  blob(): Promise<Blob>
  /** Changes when the image does. */
  fingerprint(): Promise<string>
}

/** Largest file of the service. */
const sizeMaxBytes = 20 * 1_024 * 1_024

export const inputError = (message: string, cause?: unknown): MatteError =>
  new MatteError('CLIENT_INPUT', message, { cause })

const bytesAt = (head: Uint8Array, start: number, text: string): boolean =>
  [...text].every((char, index) => head[start + index] === char.charCodeAt(0))

/** MIME type by the first 12 bytes; empty if the service does not take the format. */
export function sniffType(head: Uint8Array): string {
  if (bytesAt(head, 0, '\x89PNG')) return 'image/png'
  if (bytesAt(head, 0, '\xff\xd8\xff')) return 'image/jpeg'
  return bytesAt(head, 0, 'RIFF') && bytesAt(head, 8, 'WEBP') ? 'image/webp' : ''
}

/** Chunks of a stream. Safari's streams have no iterator. */
export async function* chunksOf(
  stream: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (!('getReader' in stream)) {
    for await (const chunk of stream) yield toBytes(chunk)
    return
  }
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield toBytes(value)
    }
  } finally {
    // Without effect at the end of the stream; a reader that stops early must not leave it open.
    reader.cancel().catch(() => undefined)
  }
}

function toBytes(chunk: unknown): Uint8Array<ArrayBuffer> {
  if (chunk instanceof Uint8Array) return chunk as Uint8Array<ArrayBuffer>
  throw inputError('The stream must yield bytes (Uint8Array). Open it without an encoding.')
}

/** All chunks of a stream of unknown length: the upload needs the length beforehand. */
export async function readWhole(
  stream: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>,
  onChunk: () => void = () => undefined,
): Promise<Uint8Array<ArrayBuffer>[]> {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let sizeBytes = 0
  for await (const chunk of chunksOf(stream)) {
    onChunk()
    sizeBytes += chunk.byteLength
    if (sizeBytes > sizeMaxBytes) throw inputError('The stream has more than 20 MB, the largest file of the service.')
    chunks.push(chunk)
  }
  return chunks
}
