// Output options that concern full-size pixels: region, crop, background, matte. encode.ts scales, places and encodes.
import type { Output, Region } from '@matte/core/db/tables/task'
import type { CutOut } from './cut-out/cut-out.ts'
import { type Box, findForeground } from './cut-out/foreground.ts'
import { hardenAlpha } from './harden-alpha.ts'
import { cropWindow, placeSubject, regionBox } from './place-subject.ts'

export type ResultImage = {
  /** `width * height * channels` bytes. 1 channel: matte; 3: sRGB; 4: sRGB and alpha, not premultiplied. */
  readonly pixels: Uint8Array<ArrayBuffer>
  readonly channels: 1 | 3 | 4
  readonly width: number
  readonly height: number
  /** In pixels of this image; null when nothing was found. */
  readonly foreground: Box | null
  /** Set when the subject is scaled or moved: this image is then the subject alone. */
  readonly canvas?: Canvas | undefined
  /** Part of the photo that this image shows; undefined: all of it. */
  readonly window?: Box
}

/** The image that the subject is placed in; never larger than the photo. */
export type Canvas = {
  readonly width: number
  readonly height: number
  /** Place of the subject, with fractions. */
  readonly subject: Box
  readonly backdrop: Colour
}

/** May return the cut-out's own pixels. */
export function applyOutput(found: CutOut, output: Output | null): ResultImage {
  if (output === null) return { ...sizeOf(found), pixels: found.rgba, channels: 4, foreground: found.foreground }
  const whole = output.alpha === 'hard' ? harden(found) : found
  const cutOut = output.roi === null ? whole : clearOutside(whole, output.roi)
  const backdrop = output.channels === 'alpha' ? black : backdropOf(output)
  const { window, ...placed } = findWindow(cutOut, output, backdrop)
  const image = isWhole(window, cutOut) ? placed : { ...placed, window }
  if (output.channels === 'alpha') return { ...image, pixels: takeAlpha(cutOut, window), channels: 1 }
  if (backdrop.alpha === 0) return { ...image, pixels: takeWindow(cutOut, window), channels: 4 }
  const channels = backdrop.alpha === 255 && output.alpha !== 'kept' ? 3 : 4
  return { ...image, pixels: layOver(cutOut, window, backdrop, channels), channels }
}

const sizeOf = ({ width, height }: { readonly width: number; readonly height: number }) => ({ width, height })

/** Changes the pixels in place. */
function harden({ rgba, width, height, foreground }: CutOut): CutOut {
  hardenAlpha(rgba, 4)
  return { rgba, width, height, foreground: foreground && findForeground(rgba, width, height) }
}

/** Changes the pixels in place. */
function clearOutside({ rgba, width, height, foreground }: CutOut, region: Region): CutOut {
  const { left, top, ...size } = regionBox(region, { width, height })
  const clear = (from: number, to: number): unknown => rgba.fill(0, from * 4, to * 4)
  clear(0, top * width)
  for (let row = top; row < top + size.height; row++) {
    clear(row * width, row * width + left)
    clear(row * width + left + size.width, (row + 1) * width)
  }
  clear((top + size.height) * width, height * width)
  return { rgba, width, height, foreground: foreground && findForeground(rgba, width, height) }
}

const isWhole = (window: Box, { width, height }: Pick<CutOut, 'width' | 'height'>): boolean =>
  window.width === width && window.height === height

type Window = Omit<ResultImage, 'pixels' | 'channels'> & { readonly window: Box }

function findWindow(cutOut: CutOut, output: Output, backdrop: Colour): Window {
  const { foreground } = cutOut
  const photo = { top: 0, left: 0, ...sizeOf(cutOut) }
  if (foreground === null) return { ...sizeOf(photo), foreground, window: photo }
  const window = output.crop ? cropWindow(foreground, output.cropMargin, cutOut) : photo
  const inWindow = { ...foreground, top: foreground.top - window.top, left: foreground.left - window.left }
  const subject = placeSubject(inWindow, window, output)
  if (subject === undefined) return { ...sizeOf(window), foreground: inWindow, window }
  return {
    ...sizeOf(foreground),
    foreground: { top: 0, left: 0, ...sizeOf(foreground) },
    window: foreground,
    canvas: { ...sizeOf(window), subject, backdrop },
  }
}

type Colour = { readonly red: number; readonly green: number; readonly blue: number; readonly alpha: number }

const black: Colour = { red: 0, green: 0, blue: 0, alpha: 255 }

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
  if (isWhole(window, { width, height })) return rgba
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
