import type { Box } from '../cut-out/foreground.ts'
import type { ShadowLayer } from './make-shadow.ts'

type Colour = { readonly red: number; readonly green: number; readonly blue: number }

/**
 * Composites the shadow under straight RGBA pixels, in place; what lies outside the window is cut. `window` has the
 * coordinates of the shadow's box. An edge pixel becomes the subject over the shadow, so no rim is left between them.
 */
export function layUnder(
  rgba: Uint8Array<ArrayBuffer>,
  window: Box,
  shadow: ShadowLayer & { readonly colour: Colour },
): void {
  const { box, opacities, colour } = shadow
  const top = Math.max(window.top, box.top)
  const bottom = Math.min(window.top + window.height, box.top + box.height)
  const left = Math.max(window.left, box.left)
  const count = Math.min(window.left + window.width, box.left + box.width) - left
  // One 32-bit access per pixel; alpha is the highest byte.
  const pixels = new Int32Array(rgba.buffer, rgba.byteOffset, window.width * window.height)
  const { red, green, blue } = colour
  const bare = red | (green << 8) | (blue << 16)
  for (let y = top; y < bottom; y++) {
    let from = (y - box.top) * box.width + left - box.left
    let to = (y - window.top) * window.width + left - window.left
    for (let x = 0; x < count; x++, from++, to++) {
      const opacity = opacities[from] as number
      if (opacity === 0) continue
      const pixel = pixels[to] as number
      const alpha = pixel >>> 24
      if (alpha === 255) continue
      if (alpha === 0) {
        pixels[to] = bare | (opacity << 24)
        continue
      }
      const whole = alpha + (opacity * (255 - alpha)) / 255
      const share = alpha / whole
      const mixedRed = red + ((pixel & 255) - red) * share + 0.5
      const mixedGreen = green + (((pixel >>> 8) & 255) - green) * share + 0.5
      const mixedBlue = blue + (((pixel >>> 16) & 255) - blue) * share + 0.5
      pixels[to] = mixedRed | (mixedGreen << 8) | (mixedBlue << 16) | ((whole + 0.5) << 24)
    }
  }
}
