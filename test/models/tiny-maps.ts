// Maps that the networks of graphs/make.py give, with the options of add.faults.test.ts.

/** Map value 0..1 of a pixel: the mean of its channels. */
export const maps: Readonly<Record<'one-image' | 'logits' | 'half', (rgb: readonly number[]) => number>> = {
  'one-image': (rgb) => meanOf(rgb.map((value) => value / 255)),
  logits: (rgb) => 1 / (1 + Math.exp(-meanOf(rgb.map((value, i) => (value / 255 - ([0.5, 0.4, 0.3][i] ?? 0)) / 0.25)))),
  half: (rgb) => meanOf(rgb.map((value) => value / 128 - 0.5)),
}
const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** Uses every value; no two images are alike. */
export function pictureOf(size: number, seed: number): Buffer {
  const pixels = Buffer.alloc(size * size * 3)
  for (let i = 0; i < pixels.length; i++) pixels[i] = (i * 7 + Math.floor(i / 97) * 13 + seed * 31) % 256
  return pixels
}

export function largestError(alpha: Buffer, picture: Buffer, map: (rgb: readonly number[]) => number): number {
  let worst = 0
  for (let i = 0; i < alpha.length; i++) {
    const expected = 255 * Math.min(1, Math.max(0, map([...picture.subarray(i * 3, i * 3 + 3)])))
    worst = Math.max(worst, Math.abs((alpha[i] ?? 0) - expected))
  }
  return worst
}
