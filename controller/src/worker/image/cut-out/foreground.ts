/** Where the subject is, in pixels of the result; the shape of the interface's `foreground`. */
export type Box = { readonly top: number; readonly left: number; readonly width: number; readonly height: number }

/**
 * When there is a subject at all: at least so many of the mask's 320 × 320 values, a share of any other's, are at least
 * so high. docs/quality.md has how often that errs, and test/quality/presence how it was chosen.
 */
export const foregroundRule = { area: 64, least: 204 } as const

const ruleSize = 320

/** `mask`: the network's answer for the whole photo, square, probability x 255. */
export function hasForeground(mask: Uint8Array): boolean {
  const area = Math.max(1, Math.round((foregroundRule.area * mask.length) / ruleSize ** 2))
  let count = 0
  for (let i = 0; i < mask.length && count < area; i++) {
    if ((mask[i] as number) >= foregroundRule.least) count++
  }
  return count >= area
}

// Alpha (0..255) from which a pixel counts: 3 %, which nobody sees on any background. Without it, a single speck of
// alpha 1 would decide where a crop ends.
const visibleAlphaMin = 8

/** The smallest box around all visible pixels of `width * height` RGBA; null when there are none. */
export function findForeground(rgba: Uint8Array<ArrayBuffer>, width: number, height: number): Box | null {
  // One 32-bit read a pixel: alpha is its highest byte, as every machine Node runs on is little-endian.
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
