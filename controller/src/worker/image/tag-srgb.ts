// Tags finished files as sRGB; without the tag, wide-gamut screens may show the colours too bright. sharp would first
// convert every pixel from sRGB to sRGB, which costs time and shifts some by a level.
import type { Output } from '@matte/core/db/tables/task'
import sharp from 'sharp'
import { freeBytes } from './free-bytes.ts'
import { addChunk, srgbChunk } from './png-chunks.ts'

type Tagged = { readonly format: Output['format']; readonly width: number; readonly height: number }

/** Returns the file with the tag; `bare` must have no profile and is freed. Mattes are grey and get no tag. */
export async function tagSrgb(bare: Uint8Array, { format, width, height }: Tagged): Promise<Uint8Array> {
  const profile = await srgbProfile()
  const tag = { png: () => addChunk(bare, srgbChunk), jpeg: () => tagJpeg(bare, profile) }
  const file = format === 'webp' ? tagWebp(bare, profile, { width, height }) : tag[format]()
  freeBytes(bare)
  return file
}

let loaded: Promise<Buffer> | undefined

/** 480 bytes, public domain, taken from a file that libvips writes. */
function srgbProfile(): Promise<Buffer> {
  loaded ??= loadProfile()
  return loaded
}

async function loadProfile(): Promise<Buffer> {
  const pixel = sharp({ create: { width: 1, height: 1, channels: 3, background: '#000000' } })
  const { icc } = await sharp(await pixel.withIccProfile('srgb').jpeg().toBuffer()).metadata()
  if (icc === undefined) throw new Error('sharp wrote no profile')
  return icc
}

const afterStart = 2

/** Inserts an APP2 segment; sharp writes no JFIF segment, which would have to precede it. */
function tagJpeg(bare: Uint8Array, profile: Buffer): Uint8Array {
  const name = Buffer.from('ICC_PROFILE\0\x01\x01', 'latin1')
  const head = Buffer.from([0xff, 0xe2, 0, 0])
  head.writeUInt16BE(2 + name.length + profile.length, 2)
  return Buffer.concat([bare.subarray(0, afterStart), head, name, profile, bare.subarray(afterStart)])
}

const afterRiff = 12
const extensionSize = 8 + 10
const profileFlag = 0x20

/** Only the extended format (VP8X) can hold a profile; a simple file is extended. */
function tagWebp(bare: Uint8Array, profile: Buffer, { width, height }: Omit<Tagged, 'format'>): Uint8Array {
  const isExtended = Buffer.from(bare.subarray(afterRiff, afterRiff + 4)).toString('latin1') === 'VP8X'
  const head = Buffer.alloc(afterRiff + extensionSize + 8)
  head.write('RIFF    WEBPVP8X', 'latin1')
  head.writeUInt32LE(10, 16)
  head.writeUIntLE(width - 1, 24, 3)
  head.writeUIntLE(height - 1, 27, 3)
  head[20] = profileFlag | (isExtended ? (bare[20] ?? 0) : 0)
  head.write('ICCP', afterRiff + extensionSize, 'latin1')
  head.writeUInt32LE(profile.length, afterRiff + extensionSize + 4)
  const padding = Buffer.alloc(profile.length % 2)
  const rest = bare.subarray(isExtended ? afterRiff + extensionSize : afterRiff)
  head.writeUInt32LE(head.length + profile.length + padding.length + rest.length - 8, 4)
  return Buffer.concat([head, profile, padding, rest])
}
