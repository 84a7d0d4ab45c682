// Bodies with images. A form, form-urlencoded text or JSON becomes the same texts and files; the body may also be the
// image. The handler reads it, so its size is bounded by the plan of the caller and not by the 1 MiB of other routes.
import type { Readable } from 'node:stream'
import type {} from '@fastify/multipart'
import { MatteError } from '@matte/core/error'
import { invalidParam, invalidParams } from '@matte/core/invalid-params'
import type { FastifyRequest } from 'fastify'
import { escapePointer } from '../errors/issues.ts'
import { announcedBytes, type Exchange, type RawBody } from '../limit/request-body.ts'
import type { ByteHold } from './byte-budget.ts'

export type ImageFile = { readonly fileName: string; readonly bytes: Buffer }

export type ImageForm = {
  /** Numbers and booleans of JSON as text. */
  readonly fields: ReadonlyMap<string, string>
  readonly files: ReadonlyMap<string, ImageFile>
}

/** Both protocols have about twenty fields. */
const partsMax = 64
/**
 * Characters of a field, so a URL fits. Parameters are split into words and repeated in errors: 13 MB of spaces would
 * take half a gigabyte and seconds.
 */
const fieldLengthMax = 8_192
/** Fields that hold a whole image. */
const imageTexts: ReadonlySet<string> = new Set(['image_file_b64'])
/** Separators of a text body: millions of tiny fields would need many times its memory. */
const separatorsMax = 1_000
/** Everything in a body but its image. */
const overheadBytes = 65_536

/** Largest body of an image of this size: base64 needs four bytes for three. */
export const bodyBytesMax = (imageBytesMax: number): number => Math.ceil((imageBytesMax / 3) * 4) + overheadBytes

/** Bodies hold memory while they arrive: 256 KiB/s, 2 Mbit/s. */
export const imageBody = (imageBytesMax: number): RawBody => ({
  bytesMax: bodyBytesMax(imageBytesMax),
  perMebibyteMs: 4_000,
  readBy: 'handler',
})

/**
 * Copies of the body that a request holds between reads: chunks and their sum; as text, its value and the image of it.
 * Two more exist while one body is parsed, which nothing interrupts.
 */
const copies = { binary: 2, text: 3 } as const

type Limits = {
  readonly imageBytesMax: number
  /** Reserves memory for what has arrived. */
  readonly hold: ByteHold
}

/**
 * A file above `imageBytesMax` is cut one byte later, so its length still shows that it is too large.
 * @throws MatteError TASK_FILE_SIZE_EXCEEDED; RATE_LIMIT_EXCEEDED when no memory is left; INVALID_PARAMS
 */
export const readForm = (exchange: Exchange, limits: Limits): Promise<ImageForm> =>
  readBounded(exchange, limits, bodyBytesMax(limits.imageBytesMax), async () => {
    const form = await readParts(exchange.request, limits)
    for (const [name, value] of form.fields) checkText(name, value)
    return form
  })

/** A body that is the image. @throws MatteError as `readForm` */
export const readImage = (exchange: Exchange, limits: Limits): Promise<ImageFile> =>
  readBounded(exchange, limits, limits.imageBytesMax, async () => {
    const bytes = await readAll(exchange.request.raw, limits, { max: limits.imageBytesMax, copies: copies.binary })
    return { fileName: unnamed, bytes }
  })

async function readBounded<T>({ request, reply }: Exchange, limits: Limits, max: number, read: () => Promise<T>) {
  try {
    if ((announcedBytes(request.headers) ?? 0) > max) throw bodyTooLarge(limits.imageBytesMax)
    return await request.awaitBody(reply, read)
  } catch (error) {
    // Discards the rest: a client that is still sending would not read the response.
    request.raw.unpipe()
    request.raw.resume()
    throw isKnown(error) ? error : invalidParams([incomplete], { cause: error })
  }
}

/** @throws MatteError INVALID_PARAMS */
function checkText(name: string, value: string): void {
  if (!imageTexts.has(name)) {
    if (value.length <= fieldLengthMax) return
    throw invalidParam(`/body/${escapePointer(name.slice(0, shownNameMax))}`, tooLong)
  }
  // A character beyond Latin-1 doubles the memory of the whole text.
  if (/\P{ASCII}/u.test(value)) throw invalidParam(`/body/${name}`, 'must be base64')
}

const tooLong = `must be at most ${fieldLengthMax} characters long`
const shownNameMax = 64

const incomplete = { path: '/body', message: 'must be a complete form, as its content type says' }

/** Others come from the parser of multipart, or from a client that left. */
const isKnown = (error: unknown): boolean =>
  error instanceof MatteError || (error instanceof Error && 'statusCode' in error)

async function readParts(request: FastifyRequest, limits: Limits): Promise<ImageForm> {
  const type = mediaTypeOf(request.headers['content-type'])
  if (type === 'multipart/form-data') return readMultipart(request, limits)
  if (type !== 'application/json' && type !== 'application/x-www-form-urlencoded') {
    const known = 'multipart/form-data, application/x-www-form-urlencoded or application/json'
    throw invalidParam('/headers/content-type', `must be ${known}`)
  }
  const bytes = await readAll(request.raw, limits, { max: bodyBytesMax(limits.imageBytesMax), copies: copies.text })
  if (type !== 'application/json') writeSpaces(bytes)
  const text = bytes.toString()
  if (hasManyFields(text)) throw invalidParam('/body', 'has too many fields')
  const fields = type === 'application/json' ? fieldsOfJson(text) : new Map(new URLSearchParams(text))
  return { fields, files: new Map() }
}

/** URLSearchParams would make a string for each plus: 300 MB for 13 MB of them. */
function writeSpaces(form: Buffer): void {
  const [plus, space] = [0x2b, 0x20]
  for (let at = 0; at < form.length; at++) if (form[at] === plus) form[at] = space
}

function hasManyFields(text: string): boolean {
  const separators = text.matchAll(/[&,[{]/g)
  for (let count = 0; !separators.next().done; count++) if (count >= separatorsMax) return true
  return false
}

/** Media type without its parameters, in lower case. */
export const mediaTypeOf = (header: string | undefined): string =>
  (header ?? '').split(';')[0]?.trim().toLowerCase() ?? ''

async function readMultipart(request: FastifyRequest, { imageBytesMax, hold }: Limits): Promise<ImageForm> {
  const refused = Promise.withResolvers<never>()
  const max = bodyBytesMax(imageBytesMax)
  // The limits below count each part alone, and a chunked body announces no length.
  let size = 0
  const count = (chunk: Buffer): void => {
    size += chunk.length
    try {
      if (size > max) throw bodyTooLarge(imageBytesMax)
      hold.add(chunk.length * copies.binary)
    } catch (error) {
      refused.reject(error)
    }
  }
  request.raw.on('data', count)
  try {
    return await Promise.race([refused.promise, collectParts(request, imageBytesMax)])
  } finally {
    request.raw.off('data', count)
  }
}

async function collectParts(request: FastifyRequest, imageBytesMax: number): Promise<ImageForm> {
  const fields = new Map<string, string>()
  const files = new Map<string, ImageFile>()
  const limits = { fileSize: imageBytesMax + 1, fieldSize: bodyBytesMax(imageBytesMax), parts: partsMax }
  for await (const part of request.parts({ limits })) {
    if (part.type === 'field') fields.set(part.fieldname, String(part.value))
    else files.set(part.fieldname, { fileName: nameOf(part), bytes: await collect(part.file) })
  }
  return { fields, files }
}

const unnamed = 'image'

/** Undefined, against its type, for a file that has a content type only. */
const nameOf = ({ filename }: { readonly filename: string | undefined }): string => filename ?? unnamed

async function collect(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

type Bound = { readonly max: number; readonly copies: number }

function readAll(raw: Readable, { imageBytesMax, hold }: Limits, { max, copies }: Bound): Promise<Buffer> {
  async function* bounded(): AsyncGenerator<Buffer> {
    let size = 0
    // Destroying the request would close the socket before the response is sent.
    for await (const chunk of raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > max) throw bodyTooLarge(imageBytesMax)
      hold.add(chunk.length * copies)
      yield chunk
    }
  }
  return collect(bounded())
}

function fieldsOfJson(text: string): Map<string, string> {
  const body = parseJson(text)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalidParam('/body', 'must be an object')
  const fields = new Map<string, string>()
  for (const [name, value] of Object.entries(body)) {
    if (['string', 'number', 'boolean'].includes(typeof value)) fields.set(name, String(value))
  }
  return fields
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalidParam('/body', 'must be valid JSON')
  }
}

const bodyTooLarge = (maxFileSize: number): MatteError =>
  new MatteError('TASK_FILE_SIZE_EXCEEDED', `The body is too large; an image may have at most ${maxFileSize} bytes.`, {
    details: { limit: 'bytes', maxFileSize },
  })
