// Second view of a photo: mirrored, 10 % smaller, with reflected edges. The network finds more of a subject that the
// border cuts when the border is further out. Plain loops take 2 ms for 320 × 320; a sharp call would wait for a
// thread.

/** Scale of the second view; docs/quality.md compares 0.85 to 0.95. */
const share = 0.9

export function mirror(pixels: Uint8Array, size: number): Uint8Array {
  return resample(pixels, size, { channels: 3, step: 1 / share })
}

/** Returns the second view's mask in the coordinates of the photo. */
export function mirrorBack(mask: Uint8Array, size: number): Uint8Array {
  return resample(mask, size, { channels: 1, step: share })
}

type How = {
  readonly channels: number
  /** Source pixels per result pixel. */
  readonly step: number
}

function resample(source: Uint8Array, size: number, { channels, step }: How): Uint8Array {
  const result = new Uint8Array(source.length)
  const { before, after, shares } = placesOf(size, step)
  const row = new Float32Array(size * channels)
  for (let y = 0; y < size; y++) {
    mixRows(source, row, { before: before[y] as number, after: after[y] as number, share: shares[y] as number })
    for (let x = 0, to = (y + 1) * row.length - channels; x < size; x++, to -= channels) {
      const left = (before[x] as number) * channels
      const right = (after[x] as number) * channels
      const across = shares[x] as number
      for (let i = 0; i < channels; i++) {
        const value = row[left + i] as number
        result[to + i] = value + across * ((row[right + i] as number) - value) + 0.5
      }
    }
  }
  return result
}

type Mix = { readonly before: number; readonly after: number; readonly share: number }

function mixRows(source: Uint8Array, row: Float32Array, { before, after, share: down }: Mix): void {
  for (let i = 0, upper = before * row.length, lower = after * row.length; i < row.length; i++, upper++, lower++) {
    const value = source[upper] as number
    row[i] = value + down * ((source[lower] as number) - value)
  }
}

/** Source pixels on either side of each result pixel along one axis, and the weight of the second. */
function placesOf(size: number, step: number) {
  const before = new Int32Array(size)
  const after = new Int32Array(size)
  const shares = new Float64Array(size)
  const reflect = (i: number): number => (i < 0 ? -1 - i : i >= size ? 2 * size - 1 - i : i)
  for (let i = 0; i < size; i++) {
    const place = (i + 0.5 - size / 2) * step + size / 2 - 0.5
    const floor = Math.floor(place)
    before[i] = reflect(floor)
    after[i] = reflect(floor + 1)
    shares[i] = place - floor
  }
  return { before, after, shares }
}
