// Damaged files, files of two formats at once, and small files that demand many resources.
import { deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { adobeSegment, profileSegment, segment, writeJpeg } from '../files/jpeg.ts'
import { pngChunk, pngHeader, pngSignature, profileChunk } from '../files/png-parts.ts'
import { extendWebp } from '../files/webp.ts'
import { corners, size } from './colours.ts'
import type { TortureCase } from './outcome.ts'
import { jpeg, png, shown, webp } from './picture.ts'

const { width, height } = size

function noise(length: number, seed = 1): Buffer {
  let state = seed
  return Buffer.from(
    Array.from({ length }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return state >>> 24
    }),
  )
}

const busy = () => sharp(noise(96 * 64 * 4), { raw: { width: 96, height: 64, channels: 4 } })
const wholeFiles: Readonly<Record<string, () => Promise<Buffer>>> = {
  PNG: () => busy().png().toBuffer(),
  'interlaced PNG': () => busy().png({ progressive: true }).toBuffer(),
  'PNG with a palette': () => busy().removeAlpha().png({ palette: true }).toBuffer(),
  JPEG: () => busy().flatten().jpeg().toBuffer(),
  'progressive JPEG': () => busy().flatten().jpeg({ progressive: true }).toBuffer(),
  'lossy WebP': () => busy().flatten().webp().toBuffer(),
  'lossy WebP with alpha': () => busy().webp().toBuffer(),
  'lossless WebP': () => busy().webp({ lossless: true }).toBuffer(),
}
const refused = (name: string, make: TortureCase['make']): TortureCase => ({ name, make, outcome: 'INPUT_UNREADABLE' })

const cut = Object.entries(wholeFiles).flatMap(([name, make]) =>
  Array.from({ length: 10 }, (_, tenth) =>
    refused(`${name} cut after ${tenth} tenths`, async () => {
      const file = await make()
      return file.subarray(0, Math.floor((file.length * tenth) / 10))
    }),
  ),
)

/** Start of the pixels; everything after it becomes noise. */
const pixelsAt: Readonly<Record<string, (file: Buffer) => number>> = {
  PNG: (file) => file.indexOf('IDAT') + 4,
  JPEG: (file) => file.indexOf(Buffer.of(0xff, 0xda)) + 14,
  'progressive JPEG': (file) => file.indexOf(Buffer.of(0xff, 0xda)) + 14,
  'lossy WebP': (file) => file.indexOf('VP8 ') + 18,
  'lossless WebP': (file) => file.indexOf('VP8L') + 13,
}
const scrambled = Object.entries(pixelsAt).flatMap(([name, find]) =>
  [1, 2, 3].map((seed) =>
    refused(`${name} of noise behind its header (${seed})`, async () => {
      const file = (await wholeFiles[name]?.()) ?? Buffer.alloc(0)
      const at = find(file)
      return Buffer.concat([file.subarray(0, at), noise(file.length - at, seed)])
    }),
  ),
)

const changed = (file: Buffer, at: number): Buffer => {
  const copy = Buffer.from(file)
  copy[at] = (copy[at] ?? 0) ^ 0xff
  return copy
}
const header = { width, height, depth: 8, type: 'rgb', interlaced: false } as const
const text = (name: string, body: Buffer) => [name, Buffer.concat([Buffer.from('a\0', 'latin1'), body])] as const
const bentPngs: readonly TortureCase[] = [
  refused('PNG with a wrong checksum of its header', () => changed(png(), 30)),
  refused('PNG with a wrong checksum of its pixels', () => changed(png(), png().indexOf('IEND') - 6)),
  refused('PNG without pixels', () =>
    Buffer.concat([pngSignature, pngHeader(header), pngChunk('IEND', Buffer.alloc(0))]),
  ),
  refused('PNG of zero width', () =>
    Buffer.concat([pngSignature, pngHeader({ ...header, width: 0 }), png().subarray(33)]),
  ),
  refused('PNG without its palette', () => png({ type: 'palette', at: () => [0] })),
  refused('PNG with missing rows', () =>
    Buffer.concat([pngSignature, pngHeader({ ...header, height: 33 }), png().subarray(33)]),
  ),
  {
    name: 'PNG with surplus rows',
    make: () => Buffer.concat([pngSignature, pngHeader({ ...header, height: 16 }), png().subarray(33)]),
    outcome: { width, height: 16 },
  },
  {
    name: 'PNG with a text with a wrong checksum',
    make: () => changed(png({ chunks: [text('tEXt', Buffer.from('hello'))] }), 33 + 8 + 8),
    outcome: shown(),
  },
  {
    name: 'PNG of many texts',
    make: () => png({ chunks: Array.from({ length: 5_000 }, () => text('tEXt', Buffer.from('hello'))) }),
    outcome: shown(),
  },
]

const page = '<html><script>alert(1)</script></html>'
const zip = Buffer.concat([Buffer.from('PK\x05\x06', 'latin1'), Buffer.alloc(18)])
const polyglots: readonly TortureCase[] = [
  { name: 'PNG with an archive behind it', make: () => Buffer.concat([png(), zip]), outcome: shown() },
  {
    name: 'JPEG with a page as comment',
    make: () => jpeg([segment(0xfe, Buffer.from(page))]),
    outcome: shown(corners, 2),
  },
  { name: 'JPEG with noise behind it', make: () => Buffer.concat([jpeg(), noise(5_000)]), outcome: shown(corners, 2) },
  {
    name: 'WebP with noise behind it',
    make: async () => Buffer.concat([await webp(), noise(5_000)]),
    outcome: shown(),
  },
  refused('GIF with a JPEG in it', () => Buffer.concat([Buffer.from('GIF89a'), jpeg()])),
  refused('SVG with a PNG signature', () =>
    Buffer.concat([pngSignature, Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')]),
  ),
  refused('RIFF with sound', () => Buffer.from('RIFF\x24\0\0\0WAVEfmt \x10\0\0\0', 'latin1')),
  refused('empty WebP', () => Buffer.from('RIFF\x04\0\0\0WEBP', 'latin1')),
  refused('nothing', () => Buffer.alloc(0)),
  refused('a line of text', () => Buffer.from(page)),
]

const hugeHeader = (side: number): Buffer =>
  Buffer.concat([pngSignature, pngHeader({ ...header, width: side, height: side }), png().subarray(33)])
const nothing = (length: number): Buffer => deflateSync(Buffer.alloc(length))
const claimed = (side: number) => () =>
  writeJpeg({ columns: 1, rows: 1, claims: { width: side, height: side }, at: () => [100, 128, 128] })
const manyScans = async (): Promise<Buffer> => {
  const file = await sharp(png()).jpeg({ progressive: true }).toBuffer()
  const scan = file.subarray(file.lastIndexOf(Buffer.of(0xff, 0xda)), -2)
  return Buffer.concat([file.subarray(0, -2), ...Array.from({ length: 5_000 }, () => scan), file.subarray(-2)])
}
const after = (at: number, more: Buffer): Buffer => Buffer.concat([jpeg().subarray(0, at), more, jpeg().subarray(at)])
const wrongScan = (): Buffer => {
  const file = jpeg()
  const lastCoefficient = file.indexOf(Buffer.of(0xff, 0xda)) + 4 + 1 + 3 * 2 + 1
  file[lastCoefficient] = 17
  return file
}
/** Files that every viewer shows without complaint. */
const odd: readonly TortureCase[] = Object.entries({
  'unneeded bytes': () => after(jpeg().indexOf(Buffer.of(0xff, 0xda)), Buffer.from('0123456789')),
  ...Object.fromEntries(
    [0, 2, 3].map((revision) => [
      `an unknown JFIF revision (${revision})`,
      () =>
        jpeg([segment(0xe0, Buffer.from(`JFIF\0${String.fromCharCode(revision)}\x01\0\0\x01\0\x01\0\0`, 'latin1'))]),
    ]),
  ),
  'the Adobe transform for four components': () => jpeg([adobeSegment(2)]),
  'an unknown Adobe transform': () => jpeg([segment(0xee, Buffer.from('Adobe\0\x64\0\0\0\0\x07', 'latin1'))]),
  'a scan whose header ends it early': wrongScan,
}).map(([name, make]) => ({ name: `JPEG with ${name}`, make, outcome: shown(corners, 2) }))

const bombs: readonly TortureCase[] = [
  { name: 'PNG that claims 30,000 × 30,000', make: () => hugeHeader(30_000), outcome: 'INPUT_TOO_LARGE' },
  refused('PNG that claims 2³¹ − 1 a side', () => hugeHeader(2 ** 31 - 1)),
  refused('PNG that claims 7,000 × 7,000', () => hugeHeader(7_000)),
  { name: 'JPEG that claims 65,500 × 65,500', make: claimed(65_500), outcome: 'INPUT_TOO_LARGE' },
  refused('JPEG that claims 65,535 × 65,535', claimed(65_535)),
  refused('JPEG that claims 7,000 × 7,000', claimed(7_000)),
  {
    name: 'WebP that claims 16,383 × 16,383',
    make: async () => extendWebp(await webp(), { canvas: { width: 16_383, height: 16_383 } }),
    outcome: 'INPUT_UNREADABLE',
  },
  refused('JPEG of 5,000 scans', manyScans),
  {
    name: 'PNG whose profile unpacks to 40 MB',
    make: () => png({ chunks: [profileChunk(Buffer.alloc(40_000_000))] }),
    outcome: shown(),
    isHeavy: true,
  },
  {
    name: 'PNG whose text unpacks to 40 MB',
    make: () => png({ chunks: [text('zTXt', Buffer.concat([Buffer.of(0), nothing(40_000_000)]))] }),
    outcome: shown(),
    isHeavy: true,
  },
  {
    name: 'PNG whose pixels unpack to 40 MB too much',
    make: () =>
      Buffer.concat([
        pngSignature,
        pngHeader(header),
        pngChunk('IDAT', nothing(40_000_000)),
        pngChunk('IEND', Buffer.alloc(0)),
      ]),
    outcome: { width, height },
    isHeavy: true,
  },
  {
    name: 'JPEG with 15 MB of profiles',
    make: () => jpeg(Array.from({ length: 250 }, () => profileSegment(Buffer.alloc(60_000, 7)))),
    outcome: shown(corners, 2),
    isHeavy: true,
  },
]

export const damagedCases: readonly TortureCase[] = [...cut, ...scrambled, ...bentPngs, ...polyglots, ...odd, ...bombs]
