/** Pixels of the photo under the masks: `width * height * channels` bytes, RGB first. */
export type MaskedPhoto = {
  readonly pixels: Uint8Array
  readonly channels: 3 | 4
  readonly width: number
  readonly height: number
}

export type Kind = 'subject' | 'background' | 'unsure'

// Eight levels per channel: few enough bins that a hundred thousand pixels fill them.
const bits = 3
const bins = 1 << (3 * bits)
/** Share given to a colour seen in neither class, so one pixel more or less decides nothing. */
const floor = 1e-3

/** Log odds of background against subject per mask position, by the colours that both views agree on. */
export function colourOdds(photo: MaskedPhoto, size: number, kindAt: (at: number) => Kind): (at: number) => number {
  const binOf = binsOf(photo, size)
  const counts = { subject: new Float64Array(bins), background: new Float64Array(bins) }
  const totals = { subject: 0, background: 0 }
  for (let at = 0; at < size * size; at++) {
    const kind = kindAt(at)
    if (kind === 'unsure') continue
    const bin = binOf(at)
    counts[kind][bin] = (counts[kind][bin] as number) + 1
    totals[kind]++
  }
  const share = (kind: 'subject' | 'background', bin: number): number =>
    (counts[kind][bin] as number) / Math.max(1, totals[kind]) + floor
  const odds = Float64Array.from({ length: bins }, (_, bin) =>
    Math.log(share('background', bin) / share('subject', bin)),
  )
  return (at) => odds[binOf(at)] as number
}

function binsOf({ pixels, channels, width, height }: MaskedPhoto, size: number): (at: number) => number {
  const columns = middles(width, size)
  const rows = middles(height, size)
  return (at) => {
    const x = columns[at % size] as number
    const y = rows[Math.floor(at / size)] as number
    const i = (y * width + x) * channels
    const level = (value: number | undefined): number => (value as number) >> (8 - bits)
    return (level(pixels[i]) << (2 * bits)) | (level(pixels[i + 1]) << bits) | level(pixels[i + 2])
  }
}

const middles = (length: number, size: number): Int32Array =>
  Int32Array.from({ length: size }, (_, at) => Math.floor(((at + 0.5) * length) / size))
