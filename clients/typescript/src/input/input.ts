// Turns every kind of input into a source that can be read again, for a retry of the upload.
import { openFile } from '#files'
import type { Transport } from '../http/transport.ts'
import type { ImageInput, UploadOptions } from '../options.ts'
import { inputError, readWhole, type Source } from '../source.ts'
import { openBlob } from './blob.ts'
import { fetchImage } from './fetch-image.ts'

type InputOptions = Pick<UploadOptions, 'fileName' | 'contentType' | 'signal'>

/** @throws MatteError CLIENT_INPUT */
export async function openInput(transport: Transport, input: ImageInput, options: InputOptions): Promise<Source> {
  const source = await open(transport, input, options.signal)
  const { fileName = source.fileName, contentType = source.contentType } = options
  if (source.sizeBytes === 0) throw inputError(`${fileName} is empty.`)
  if (!contentType) throw inputError(`${fileName} is not a PNG, JPEG or WebP file.`)
  return { ...source, fileName, contentType }
}

async function open(transport: Transport, input: ImageInput, signal: AbortSignal | undefined): Promise<Source> {
  if (typeof input === 'string' || input instanceof URL) {
    const isFetched = /^(https?|data|blob):/i.test(String(input))
    return isFetched ? fetchImage(transport, String(input), signal) : openFile(input)
  }
  if (input instanceof Blob) return openBlob(input, 'name' in input ? String(input.name) : undefined)
  if (input instanceof Uint8Array || input instanceof ArrayBuffer) return openBlob(new Blob([new Uint8Array(input)]))
  if (isStream(input)) return openBlob(new Blob(await readWhole(input)))
  throw inputError('The input must be a path, a URL, bytes, a Blob or a stream.')
}

const isStream = (input: unknown): input is ReadableStream<Uint8Array> | AsyncIterable<Uint8Array> =>
  typeof input === 'object' && input !== null && (Symbol.asyncIterator in input || 'getReader' in input)
