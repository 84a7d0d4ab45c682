// JPEGs with known colours, in colour models that the encoders here do not write: flat blocks of 8 × 8, stored by their
// unquantised mean.

type JpegOptions = {
  /** In blocks of 8 × 8 pixels. */
  readonly columns: number
  readonly rows: number
  /** Segments after the start marker. */
  readonly segments?: readonly Buffer[]
  /** Frame type (default SOF0) and bits per sample. */
  readonly frame?: { readonly marker: number; readonly precision: number }
  /** Size in the header; default: that of the blocks. */
  readonly claims?: { readonly width: number; readonly height: number }
  /** The stored components of a block, 0..255. */
  readonly at: (column: number, row: number) => readonly number[]
}

export function writeJpeg({ columns, rows, segments = [], frame = baseline, claims, at }: JpegOptions): Buffer {
  const blocks = Array.from({ length: columns * rows }, (_, i) => at(i % columns, Math.floor(i / columns)))
  const components = blocks[0]?.length ?? 0
  const ids = Array.from({ length: components }, (_, index) => index + 1)
  const { width, height } = claims ?? { width: columns * 8, height: rows * 8 }
  const size = [height >> 8, height & 255, width >> 8, width & 255]
  return Buffer.concat([
    Buffer.of(0xff, 0xd8),
    ...segments,
    segment(0xdb, Buffer.concat([Buffer.of(0), Buffer.alloc(64, 1)])),
    segment(frame.marker, Buffer.from([frame.precision, ...size, components, ...ids.flatMap((id) => [id, 0x11, 0])])),
    segment(0xc4, Buffer.from([0x00, ...lengths(4, 12), ...Array.from({ length: 12 }, (_, bits) => bits)])),
    segment(0xc4, Buffer.from([0x10, ...lengths(1, 1), 0])),
    segment(0xda, Buffer.from([components, ...ids.flatMap((id) => [id, 0]), 0, 63, 0])),
    pack(blocks),
    Buffer.of(0xff, 0xd9),
  ])
}

const baseline = { marker: 0xc0, precision: 8 }

export function segment(marker: number, body: Buffer): Buffer {
  const head = Buffer.of(0xff, marker, 0, 0)
  head.writeUInt16BE(body.length + 2, 2)
  return Buffer.concat([head, body])
}

/** Codes of equal length. */
const lengths = (length: number, count: number): number[] =>
  Array.from({ length: 16 }, (_, index) => (index + 1 === length ? count : 0))

/** Each mean is stored as the difference to the previous block: length in four bits, value, and one end bit. */
function pack(blocks: readonly (readonly number[])[]): Buffer {
  let bits = ''
  const before: number[] = []
  for (const block of blocks) {
    for (const [component, value] of block.entries()) {
      const mean = (value - 128) * 8
      const difference = mean - (before[component] ?? 0)
      before[component] = mean
      const count = difference === 0 ? 0 : Math.floor(Math.log2(Math.abs(difference))) + 1
      const stored = difference < 0 ? difference + 2 ** count - 1 : difference
      const tail = count > 0 ? stored.toString(2).padStart(count, '0') : ''
      bits += `${count.toString(2).padStart(4, '0')}${tail}0`
    }
  }
  const padded = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1')
  const bytes = (padded.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2))
  // A zero follows 255, so it is not taken for a marker.
  return Buffer.from(bytes.flatMap((byte) => (byte === 255 ? [255, 0] : [byte])))
}

export const profileSegment = (profile: Buffer): Buffer =>
  segment(0xe2, Buffer.concat([Buffer.from('ICC_PROFILE\0\x01\x01', 'latin1'), profile]))

/** Adobe transform: 0 none, 1 YCbCr, 2 YCCK. Adobe stores CMYK inverted. */
export const adobeSegment = (transform: 0 | 1 | 2): Buffer =>
  segment(0xee, Buffer.concat([Buffer.from('Adobe\0', 'latin1'), Buffer.of(100, 0, 0, 0, 0, transform)]))

export function toYcc([red = 0, green = 0, blue = 0]: readonly number[]): number[] {
  const y = 0.299 * red + 0.587 * green + 0.114 * blue
  return [y, 128 + (blue - y) / 1.772, 128 + (red - y) / 1.402].map(Math.round)
}
