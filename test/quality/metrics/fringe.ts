/** Black, white, and magenta, which is rare in photos. */
const grounds = [
  [0, 0, 0],
  [255, 255, 255],
  [255, 0, 255],
] as const

/**
 * Visible fringe: the mean difference of colour (0..255, over three grounds and three channels) from the true cut-out
 * on the same ground, on pixels whose true alpha is neither 0 nor 1. Null if there are none. Both images are RGBA.
 */
export function fringeError(truth: Uint8Array, result: Uint8Array): number | null {
  let [sum, count] = [0, 0]
  for (let i = 0; i < truth.length; i += 4) {
    const wanted = truth[i + 3] as number
    if (wanted === 0 || wanted === 255) continue
    const found = result[i + 3] as number
    count++
    for (let channel = 0; channel < 3; channel++) {
      const own = found * (result[i + channel] as number) - wanted * (truth[i + channel] as number)
      for (const ground of grounds) sum += Math.abs(own + (wanted - found) * ground[channel as 0 | 1 | 2])
    }
  }
  return count === 0 ? null : sum / (255 * 9 * count)
}
