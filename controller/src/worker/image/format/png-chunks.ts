import { crc32 } from 'node:zlib'

/** Its numbers are sRGB; rendering intent 0, perceptual, is the one meant for photos. */
export const srgbChunk = ['sRGB', Uint8Array.of(0)] as const

const signature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
/** Behind the signature and IHDR, which is always the first and of 13 bytes. */
const afterIhdr = signature.length + 12 + 13

type Chunk = readonly [name: string, body: Uint8Array]

/** A whole PNG of these chunks; each body is copied once. */
export function joinPng(chunks: readonly Chunk[]): Uint8Array<ArrayBuffer> {
  const file = new Uint8Array(signature.length + chunks.reduce((size, [, body]) => size + 12 + body.length, 0))
  file.set(signature)
  let at = signature.length
  for (const chunk of chunks) at = writeChunk(file, at, chunk)
  return file
}

/** The PNG with another chunk behind IHDR. */
export function addChunk(png: Uint8Array, chunk: Chunk): Uint8Array<ArrayBuffer> {
  const size = 12 + chunk[1].length
  const file = new Uint8Array(png.length + size)
  file.set(png.subarray(0, afterIhdr))
  writeChunk(file, afterIhdr, chunk)
  file.set(png.subarray(afterIhdr), afterIhdr + size)
  return file
}

/** Returns where the next one goes. */
function writeChunk(file: Uint8Array<ArrayBuffer>, at: number, [name, body]: Chunk): number {
  const view = new DataView(file.buffer)
  const end = at + 8 + body.length
  view.setUint32(at, body.length)
  file.set(Buffer.from(name), at + 4)
  file.set(body, at + 8)
  // The checksum covers the name and the body.
  view.setUint32(end, crc32(file.subarray(at + 4, end)))
  return end + 4
}
