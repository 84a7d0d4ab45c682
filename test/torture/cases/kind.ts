// All kinds of files: depths, colour models, pixel orders, orientations, frames, sizes.
import sharp from 'sharp'
import { adobeSegment, segment, writeJpeg } from '../files/jpeg.ts'
import { exif, exifLoop, xmp } from '../files/metadata.ts'
import { writePng } from '../files/png.ts'
import type { PngChunk } from '../files/png-parts.ts'
import { extendWebp } from '../files/webp.ts'
import { corners, greys, quarter, size } from './colours.ts'
import { type Corners, mapCorners, type TortureCase } from './outcome.ts'
import { jpeg, png, shown, webp } from './picture.ts'

const { width, height } = size

const canvas = { width, height }
const grey = (levels: readonly number[]): Corners => levels.map((level) => [level, level, level])

type PngKind = Parameters<typeof png>[0] & { readonly shows: Corners }
const palette: PngChunk = ['PLTE', Buffer.from(corners.flat())]
const translucency: PngChunk = ['tRNS', Buffer.of(255, 128, 0, 255)]
const alphas = [255, 128, 0, 255] as const
/** The colour under alpha 0 is removed. */
const translucent = corners.map((colour, index) => (alphas[index] ? [...colour, alphas[index]] : [0, 0, 0, 0]))
const levels = (depth: 1 | 2 | 4 | 8 | 16): number[] => {
  const most = 2 ** depth - 1
  return greys.map((level) => Math.round((level / 255) * most))
}
const greyKinds = Object.fromEntries(
  ([1, 2, 4, 8, 16] as const).map((depth): [string, PngKind] => {
    const stored = levels(depth)
    const shows = grey(stored.map((level) => Math.floor((level * 255) / (2 ** depth - 1))))
    return [`${depth}-bit grey`, { type: 'grey', depth, at: (x, y) => [stored[quarter(x, y)] ?? 0], shows }]
  }),
)
const pngKinds: Readonly<Record<string, PngKind>> = {
  ...greyKinds,
  '8-bit grey with alpha': {
    type: 'greyAlpha',
    at: (x, y) => [greys[quarter(x, y)], 128],
    shows: mapCorners(grey(greys), (colour) => [...colour, 128]),
  },
  '16-bit grey with alpha': {
    type: 'greyAlpha',
    depth: 16,
    at: (x, y) => [greys[quarter(x, y)] * 257, 128 * 257],
    shows: mapCorners(grey(greys), (colour) => [...colour, 128]),
  },
  'grey with one transparent level': {
    type: 'grey',
    at: (x, y) => [greys[quarter(x, y)]],
    chunks: [['tRNS', Buffer.of(0, greys[2])]],
    shows: grey(greys).map((colour, index) => (index === 2 ? [0, 0, 0, 0] : colour)),
  },
  '8-bit colour': { shows: corners },
  '16-bit colour': { depth: 16, at: (x, y) => corners[quarter(x, y)].map((value) => value * 257), shows: corners },
  'colour with one transparent value': {
    chunks: [['tRNS', Buffer.from(corners[2].flatMap((value) => [0, value]))]],
    shows: corners.map((colour, index) => (index === 2 ? [0, 0, 0, 0] : colour)),
  },
  '8-bit colour with alpha': {
    type: 'rgba',
    at: (x, y) => [...corners[quarter(x, y)], alphas[quarter(x, y)]],
    shows: translucent,
  },
  '16-bit colour with alpha': {
    type: 'rgba',
    depth: 16,
    at: (x, y) => [...corners[quarter(x, y)], alphas[quarter(x, y)]].map((value) => value * 257),
    shows: translucent,
  },
  ...Object.fromEntries(
    ([2, 4, 8] as const).flatMap((depth): [string, PngKind][] => {
      const file = { type: 'palette', depth, at: (x: number, y: number) => [quarter(x, y)] } as const
      return [
        [`${depth}-bit palette`, { ...file, chunks: [palette], shows: corners }],
        [`${depth}-bit palette with transparency`, { ...file, chunks: [palette, translucency], shows: translucent }],
      ]
    }),
  ),
  '1-bit palette': {
    type: 'palette',
    depth: 1,
    at: (x, y) => [quarter(x, y) & 1],
    chunks: [palette],
    shows: [corners[0], corners[1], corners[0], corners[1]],
  },
}
const pngs = Object.entries(pngKinds).flatMap(([name, { shows, ...kind }]): TortureCase[] => [
  { name: `PNG of ${name}`, make: () => png(kind), outcome: shown(shows) },
  { name: `interlaced PNG of ${name}`, make: () => png({ ...kind, interlaced: true }), outcome: shown(shows) },
])

/** Stored corners in display order, per orientation. */
const orientations = ['0123', '1032', '3210', '2301', '0213', '2031', '3120', '1302']
const turned = (orientation: number, within: number) => {
  const order = [...(orientations[orientation - 1] ?? '0123')].map(Number)
  const all = order.map((from) => corners[from] ?? [])
  return { ...shown(all, within), ...(orientation > 4 && { width: height, height: width }) }
}
const exifSegment = (body: Buffer): Buffer => segment(0xe1, Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), body]))
const withExif = (name: string, body: Buffer, orientation: number): TortureCase[] => [
  { name: `JPEG with ${name}`, make: () => jpeg([exifSegment(body)]), outcome: turned(orientation, 2) },
  { name: `PNG with ${name}`, make: () => png({ chunks: [['eXIf', body]] }), outcome: turned(orientation, 0) },
  {
    name: `WebP with ${name}`,
    make: async () => extendWebp(await webp(), { exif: body, canvas }),
    outcome: turned(orientation, 0),
  },
]
const exifs = [
  ...[1, 2, 3, 4, 5, 6, 7, 8].flatMap((number) => withExif(`EXIF orientation ${number}`, exif(number), number)),
  ...[0, 9, 65_535].flatMap((number) => withExif(`EXIF orientation ${number}, which is invalid`, exif(number), 1)),
  ...withExif('EXIF with a loop', exifLoop(), 1),
  ...withExif('EXIF cut short', exif(6).subarray(0, 12), 1),
  ...withExif('EXIF of noise', Buffer.alloc(500, 0xa7), 1),
]

const byComponent = (stored: (colour: readonly number[]) => readonly number[]) => jpeg([adobeSegment(0)], stored)
const frame = (marker: number, precision = 8) => ({
  columns: 6,
  rows: 4,
  frame: { marker, precision },
  at: () => [10, 128, 128],
})
const fine = { quality: 100, chromaSubsampling: '4:4:4' } as const
/** The picture as JPEG, arithmetic-coded by `jpegtran -arithmetic`, without and with `-progressive`. */
const arithmetic = {
  arithmetic:
    '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB' +
    'AQEBAQEBAQEBAQEBAQH/yQARCAAgADADAREAAhEAAxEA/8wACgAQEAUBEBEF/9oADAMBAAIRAxEAPwD/AOXuEEoXquk8FBVHLw8B' +
    'tWg1lClNvwMSr/E33RbgSVgvuDS1IIKC2nRzdP1VMrD/2Q==',
  'progressive arithmetic':
    '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB' +
    'AQEBAQEBAQEBAQEBAQH/ygARCAAgADADAREAAhEAAxEA/8wABgAQARD/2gAMAwEAAhADEAAAAf8AzOn8phW/zE5OavbtCneiLtRG' +
    'vK3SYAH7SzQrdmOlvkqG/r4agb9DbPRU/8wABBAF/9oACAEBAAEFArD/zAAEEQX/2gAIAQMBAT8BsP/MAAQRBf/aAAgBAgEBPwGw' +
    '/8wABBAF/9oACAEBAAY/ArD/zAAEEAX/2gAIAQEAAT8hsP/aAAwDAQACAAMAAAAQS8b/zAAEEQX/2gAIAQMBAT8QsP/MAAQRBf/a' +
    'AAgBAgEBPxCw/8wABBAF/9oACAEBAAE/ELD/2Q==',
}
const jpegs: readonly TortureCase[] = [
  {
    name: 'progressive JPEG',
    make: () =>
      sharp(png())
        .jpeg({ ...fine, progressive: true })
        .toBuffer(),
    outcome: shown(corners, 3),
  },
  ...Object.entries(arithmetic).map(
    ([kind, text]): TortureCase => ({
      name: `${kind} JPEG`,
      make: () => Buffer.from(text, 'base64'),
      outcome: shown(corners, 2),
    }),
  ),
  { name: 'JPEG of red, green and blue', make: () => byComponent((colour) => colour), outcome: shown() },
  {
    name: 'grey JPEG',
    make: () => jpeg([], (colour) => [colour[0] ?? 0]),
    outcome: shown(
      mapCorners(corners, ([red = 0]) => [red, red, red]),
      1,
    ),
  },
  {
    name: 'JPEG of two components',
    make: () => jpeg([], (colour) => [colour[0] ?? 0, 128]),
    outcome: 'INPUT_UNREADABLE',
  },
  { name: '12-bit JPEG', make: () => writeJpeg(frame(0xc1, 12)), outcome: 'INPUT_UNREADABLE' },
  { name: 'lossless JPEG', make: () => writeJpeg(frame(0xc3)), outcome: 'INPUT_UNREADABLE' },
  {
    name: 'JPEG with XMP',
    make: () => jpeg([segment(0xe1, Buffer.concat([Buffer.from('http://ns.adobe.com/xap/1.0/\0'), xmp]))]),
    outcome: shown(corners, 2),
  },
]

const other = () => png({ at: (x, y) => corners[3 - quarter(x, y)] ?? [] })
const frames = async (order: readonly (() => Buffer)[]): Promise<Buffer> =>
  sharp(
    order.map((make) => make()),
    { join: { animated: true } },
  )
    .webp({ lossless: true })
    .toBuffer()
const animated: readonly TortureCase[] = [
  { name: 'animated WebP', make: () => frames([png, other, other]), outcome: shown() },
  {
    name: 'animated WebP, the other frame first',
    make: () => frames([other, png]),
    outcome: shown([...corners].reverse()),
  },
  {
    name: 'animated PNG',
    make: () => png({ chunks: [['acTL', Buffer.of(0, 0, 0, 2, 0, 0, 0, 0)]] }),
    outcome: shown(),
  },
  { name: 'lossy WebP', make: () => sharp(png()).webp({ quality: 100 }).toBuffer(), outcome: shown(corners, 6) },
  { name: 'WebP with XMP', make: async () => extendWebp(await webp(), { xmp, canvas }), outcome: shown() },
  {
    name: 'WebP that claims an alpha but has none',
    make: async () => extendWebp(await webp(), { hasAlpha: true, canvas }),
    outcome: shown(),
  },
]

const flat = corners[0]
const sized = ([wide, high]: readonly [number, number]): TortureCase[] => {
  const outcome = { width: wide, height: high, corners: [flat, flat, flat, flat] as const }
  const file = sharp({
    create: { width: wide, height: high, channels: 3, background: { r: flat[0], g: flat[1], b: flat[2] } },
  })
  const own = (): Buffer => writePng({ width: wide, height: high, type: 'rgb', at: () => flat })
  return [
    { name: `PNG of ${wide} × ${high}`, make: own, outcome },
    {
      name: `JPEG of ${wide} × ${high}`,
      make: () => file.clone().jpeg(fine).toBuffer(),
      outcome: { ...outcome, within: 2 },
    },
    ...(Math.max(wide, high) > 16_383
      ? []
      : [{ name: `WebP of ${wide} × ${high}`, make: () => file.clone().webp({ lossless: true }).toBuffer(), outcome }]),
  ]
}

export const kindCases: readonly TortureCase[] = [
  ...pngs,
  ...exifs,
  ...jpegs,
  ...animated,
  ...(
    [
      [1, 1],
      [1, 2],
      [2, 1],
      [1, 20_000],
      [20_000, 1],
      [1, 16_383],
      [16_383, 1],
      [3, 20_000],
    ] as const
  ).flatMap(sized),
]
