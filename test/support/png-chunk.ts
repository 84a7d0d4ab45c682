import { crc32 } from 'node:zlib'

export function pngChunk(type: string, body: Buffer): Buffer {
  const tagged = Buffer.concat([Buffer.from(type, 'latin1'), body])
  const framed = Buffer.alloc(8 + body.length + 4)
  framed.writeUInt32BE(body.length, 0)
  tagged.copy(framed, 4)
  framed.writeUInt32BE(crc32(tagged), 8 + body.length)
  return framed
}
