// Output options that concern full-size pixels: crop, background, matte. encode.ts scales and encodes.
import type { Output } from '@matte/core/db/tables/task'
import type { CutOut } from './cut-out/cut-out.ts'
import type { Box } from './cut-out/foreground.ts'

export type ResultImage = {
  /** `width * height * channels` bytes. 1 channel: matte; 3: sRGB; 4: sRGB and alpha, not premultiplied. */
  readonly pixels: Uint8Array<ArrayBuffer>
  readonly channels: 1 | 3 | 4
  readonly width: number
  readonly height: number
  /** In pixels of this image; null when nothing was found. */
  readonly foreground: Box | null
}

/** May return the cut-out's own pixels. */
export function applyOutput(cutOut: CutOut, output: Output | null): ResultImage {
  const { rgba, width, height, foreground } = cutOut
  if (output === null) return { pixels: rgba, channels: 4, width, height, foreground }
  const window = cropWindow(cutOut, output)
  const image = {
    width: window.width,
    height: window.height,
    foreground: foreground && { ...foreground, top: foreground.top - window.top, left: foreground.left - window.left },
  }
  if (output.channels === 'alpha') return { ...image, pixels: takeAlpha(cutOut, window), channels: 1 }
  const backdrop = backdropOf(output)
  if (backdrop.alpha === 0) return { ...image, pixels: takeWindow(cutOut, window), channels: 4 }
  const channels = backdrop.alpha === 255 ? 3 : 4
  return { ...image, pixels: layOver(cutOut, window, backdrop, channels), channels }
}

function cropWindow({ width, height, foreground }: CutOut, { crop, cropMargin }: Output): Box {
  if (!crop || foreground === null) return { top: 0, left: 0, width, height }
  const margin = marginPixels(cropMargin, foreground)
  const top = Math.max(0, foreground.top - margin)
  const left = Math.max(0, foreground.left - margin)
  const bottom = Math.min(height, foreground.top + foreground.height + margin)
  const right = Math.min(width, foreground.left + foreground.width + margin)
  return { top, left, width: right - left, height: bottom - top }
}

/** The same margin on all sides: a percentage of each side would frame a tall subject unevenly. */
function marginPixels(margin: string, { width, height }: Box): number {
  const amount = Number.parseInt(margin, 10)
  return margin.endsWith('%') ? Math.round((amount / 100) * Math.max(width, height)) : amount
}

type Colour = { readonly red: number; readonly green: number; readonly blue: number; readonly alpha: number }

function backdropOf({ background, format }: Output): Colour {
  const colour = parseColour(background)
  if (format !== 'jpeg') return colour
  // JPEG has no alpha, so white shows through the colour.
  const over = (value: number): number => Math.round((value * colour.alpha + 255 * (255 - colour.alpha)) / 255)
  return { red: over(colour.red), green: over(colour.green), blue: over(colour.blue), alpha: 255 }
}

function parseColour(text: string): Colour {
  if (text === 'transparent') return { red: 0, green: 0, blue: 0, alpha: 0 }
  const [red = 0, green = 0, blue = 0, alpha = 255] = Buffer.from(text.slice(1), 'hex')
  return { red, green, blue, alpha }
}

function takeAlpha({ rgba, width }: CutOut, window: Box): Uint8Array<ArrayBuffer> {
  const alpha = new Uint8Array(window.width * window.height)
  for (let y = 0, to = 0; y < window.height; y++) {
    let from = ((window.top + y) * width + window.left) * 4 + 3
    for (let x = 0; x < window.width; x++, from += 4) alpha[to++] = rgba[from] as number
  }
  return alpha
}

function takeWindow({ rgba, width, height }: CutOut, window: Box): Uint8Array<ArrayBuffer> {
  if (window.width === width && window.height === height) return rgba
  const part = new Uint8Array(window.width * window.height * 4)
  for (let y = 0; y < window.height; y++) {
    const from = ((window.top + y) * width + window.left) * 4
    part.set(rgba.subarray(from, from + window.width * 4), y * window.width * 4)
  }
  return part
}

function layOver({ rgba, width }: CutOut, window: Box, backdrop: Colour, channels: 3 | 4): Uint8Array<ArrayBuffer> {
  const result = new Uint8Array(window.width * window.height * channels)
  const { red, green, blue, alpha } = backdrop
  for (let y = 0, to = 0; y < window.height; y++) {
    let from = ((window.top + y) * width + window.left) * 4
    for (let x = 0; x < window.width; x++, from += 4, to += channels) {
      const opacity = rgba[from + 3] as number
      const shown = (alpha * (255 - opacity)) / 255
      const whole = opacity + shown
      const share = opacity / whole
      result[to] = red + ((rgba[from] as number) - red) * share + 0.5
      result[to + 1] = green + ((rgba[from + 1] as number) - green) * share + 0.5
      result[to + 2] = blue + ((rgba[from + 2] as number) - blue) * share + 0.5
      if (channels === 4) result[to + 3] = whole + 0.5
    }
  }
  return result
}
