import { crc32 } from 'node:zlib'

/** sRGB with rendering intent 0 (perceptual). */
export const srgbChunk = ['sRGB', Uint8Array.of(0)] as const

const signature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
/** IHDR is always first and has 13 bytes. */
const afterIhdr = signature.length + 12 + 13

type Chunk = readonly [name: string, body: Uint8Array]

export function joinPng(chunks: readonly Chunk[]): Uint8Array<ArrayBuffer> {
  const file = new Uint8Array(signature.length + chunks.reduce((size, [, body]) => size + 12 + body.length, 0))
  file.set(signature)
  let at = signature.length
  for (const chunk of chunks) at = writeChunk(file, at, chunk)
  return file
}

export function addChunk(png: Uint8Array, chunk: Chunk): Uint8Array<ArrayBuffer> {
  const size = 12 + chunk[1].length
  const file = new Uint8Array(png.length + size)
  file.set(png.subarray(0, afterIhdr))
  writeChunk(file, afterIhdr, chunk)
  file.set(png.subarray(afterIhdr), afterIhdr + size)
  return file
}

function writeChunk(file: Uint8Array<ArrayBuffer>, at: number, [name, body]: Chunk): number {
  const view = new DataView(file.buffer)
  const end = at + 8 + body.length
  view.setUint32(at, body.length)
  file.set(Buffer.from(name), at + 4)
  file.set(body, at + 8)
  view.setUint32(end, crc32(file.subarray(at + 4, end)))
  return end + 4
}
