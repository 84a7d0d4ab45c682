// The mirror image of a square, and what two masks say together. Plain loops: 0.2 ms for 320 × 320, where a call of
// sharp's waits for a thread.

/** Left and right exchanged; `size` pixels a side, of as many bytes as there are for each. */
export function mirror(pixels: Uint8Array, size: number): Uint8Array {
  const channels = pixels.length / (size * size)
  const mirrored = new Uint8Array(pixels.length)
  const rowBytes = size * channels
  for (let row = 0; row < pixels.length; row += rowBytes) {
    for (let from = row, to = row + rowBytes - channels; from < row + rowBytes; from += channels, to -= channels) {
      for (let channel = 0; channel < channels; channel++) mirrored[to + channel] = pixels[from + channel] as number
    }
  }
  return mirrored
}

/**
 * Raises each value of `mask` to that of the mask of the mirror image, where it is higher. What one view misses the
 * other often finds; the mean of both would make what only one has found half transparent.
 */
export function raiseToMirrored(mask: Uint8Array, mirrored: Uint8Array, size: number): void {
  for (let row = 0; row < mask.length; row += size) {
    for (let x = row, from = row + size - 1; x < row + size; x++, from--) {
      mask[x] = Math.max(mask[x] as number, mirrored[from] as number)
    }
  }
}
