// The second view of a photo: its mirror image, a tenth smaller, with what is beyond its sides reflected (A125). The
// network finds more of a subject that the photo's border cuts when the border is further out. Plain loops: for an
// input of 320 × 320 they take 2 ms (20 for one of 1024), and a call of sharp's would wait for a thread.

/** Of the input's side; on the half to choose by, 0.85 to 0.95 are as good or a little worse (docs/quality.md). */
const share = 0.9

/** The model's input for the second view, of RGB with `size` pixels a side. */
export function mirror(pixels: Uint8Array, size: number): Uint8Array {
  return resample(pixels, size, { channels: 3, step: 1 / share })
}

/** The mask of the second view, on the pixels of the photo's own. */
export function mirrorBack(mask: Uint8Array, size: number): Uint8Array {
  return resample(mask, size, { channels: 1, step: share })
}

type How = {
  readonly channels: number
  /** Of the source's pixels, from one pixel of the result to the next. */
  readonly step: number
}

/** Left and right exchanged, and resized about the middle; each value is mixed of the four around its place. */
function resample(source: Uint8Array, size: number, { channels, step }: How): Uint8Array {
  const result = new Uint8Array(source.length)
  const { before, after, shares } = placesOf(size, step)
  const row = new Float32Array(size * channels)
  for (let y = 0; y < size; y++) {
    mixRows(source, row, { before: before[y] as number, after: after[y] as number, share: shares[y] as number })
    // From the last pixel of the row to its first.
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

/** Of each pixel of the result along an axis: the source's on either side of its place, and the latter's share. */
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
