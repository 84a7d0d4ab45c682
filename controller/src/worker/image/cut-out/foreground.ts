/** Bounding box of the subject in pixels of the result, as the API reports it. */
export type Box = { readonly top: number; readonly left: number; readonly width: number; readonly height: number }

/** Mask values of at least `least` that make a subject, per 320 × 320; docs/quality.md has the error rates. */
export const foregroundRule = { area: 64, least: 204 } as const

const ruleSize = 320

export function hasForeground(mask: Uint8Array): boolean {
  const area = Math.max(1, Math.round((foregroundRule.area * mask.length) / ruleSize ** 2))
  let count = 0
  for (let i = 0; i < mask.length && count < area; i++) {
    if ((mask[i] as number) >= foregroundRule.least) count++
  }
  return count >= area
}

// Lowest visible alpha (0..255): below 3 % is invisible, and a speck of alpha 1 must not decide a crop.
const visibleAlphaMin = 8

export function findForeground(rgba: Uint8Array<ArrayBuffer>, width: number, height: number): Box | null {
  // One 32-bit read per pixel; alpha is the highest byte.
  const pixels = new Uint32Array(rgba.buffer, rgba.byteOffset, width * height)
  const threshold = visibleAlphaMin * 2 ** 24
  let first = 0
  while (first < pixels.length && (pixels[first] as number) < threshold) first++
  if (first === pixels.length) return null
  let last = pixels.length - 1
  while ((pixels[last] as number) < threshold) last--
  const top = Math.floor(first / width)
  const bottom = Math.floor(last / width)
  let left = first % width
  let right = left
  for (let row = top * width; row <= bottom * width; row += width) {
    for (let x = 0; x < left; x++) if ((pixels[row + x] as number) >= threshold) left = x
    for (let x = width - 1; x > right; x--) if ((pixels[row + x] as number) >= threshold) right = x
  }
  return { top, left, width: right - left + 1, height: bottom - top + 1 }
}
