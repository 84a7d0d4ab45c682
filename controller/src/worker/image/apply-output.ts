// Output options that concern full-size pixels: region, crop, shadow, background, matte. encode.ts scales, places and
// encodes.
import type { Output, Region } from '@matte/core/db/tables/task'
import type { CutOut } from './cut-out/cut-out.ts'
import { type Box, findForeground } from './cut-out/foreground.ts'
import { freeBytes } from './free-bytes.ts'
import { hardenAlpha } from './harden-alpha.ts'
import { ImageError } from './image-error.ts'
import { cropWindow, joinBoxes, placePiece, placeSubject, regionBox } from './place-subject.ts'
import { layUnder } from './shadow/lay-under.ts'
import { makeShadow, type ShadowLayer } from './shadow/make-shadow.ts'

export type ResultImage = {
  /** `width * height * channels` bytes. 1 channel: matte; 3: sRGB; 4: sRGB and alpha, not premultiplied. */
  readonly pixels: Uint8Array<ArrayBuffer>
  readonly channels: 1 | 3 | 4
  readonly width: number
  readonly height: number
  /** In pixels of this image; null when nothing was found. */
  readonly foreground: Box | null
  /** Set when the subject is scaled or moved: this image is then the subject alone, with its shadow. */
  readonly canvas?: Canvas | undefined
  /** Part of the photo that this image shows, and beyond it if the image grows for a shadow; undefined: all of it. */
  readonly window?: Box
}

/** The image that the subject is placed in; larger than the photo only if it grows for a shadow. */
export type Canvas = {
  readonly width: number
  readonly height: number
  /** Place of the image, with fractions. */
  readonly piece: Box
  readonly backdrop: Colour
}

/**
 * May return the cut-out's own pixels, changed.
 * @throws ImageError INPUT_TOO_LARGE if the shadow makes the result larger than both the photo and `pixelsMax`
 */
export function applyOutput(found: CutOut, output: Output | null, pixelsMax = Infinity): ResultImage {
  if (output === null) return { ...sizeOf(found), pixels: found.rgba, channels: 4, foreground: found.foreground }
  const whole = output.alpha === 'hard' ? harden(found) : found
  const cutOut = output.roi === null ? whole : clearOutside(whole, output.roi)
  const shadow = shadowOf(cutOut, output)
  const backdrop = output.channels === 'alpha' ? black : backdropOf(output)
  const { window, ...placed } = findWindow(cutOut, output, { backdrop, shadow })
  checkSize(whole, [window, placed.canvas ?? placed], pixelsMax)
  const image = isWhole(window, cutOut) ? placed : { ...placed, window }
  if (output.channels === 'alpha') return { ...image, pixels: takeAlpha(cutOut, window), channels: 1 }
  const colours = { backdrop, keepsAlpha: output.alpha === 'kept' }
  if (shadow === undefined) return { ...image, ...colour(cutOut, window, colours) }
  const pixels = takeWindow(cutOut, window)
  layUnder(pixels, window, shadow)
  const result = {
    ...image,
    ...colour({ rgba: pixels, ...sizeOf(window) }, { top: 0, left: 0, ...sizeOf(window) }, colours),
  }
  if (result.pixels !== pixels) freeBytes(pixels)
  return result
}

/** A matte has no shadow, but the size of an image that grows for one. */
function shadowOf({ foreground, ...cutOut }: CutOut, { shadow, channels }: Output): ColouredShadow | undefined {
  if (foreground === null || shadow === null || (channels === 'alpha' && !shadow.grow)) return undefined
  const layer = makeShadow({ ...cutOut, foreground }, shadow)
  return layer && { ...layer, colour: parseColour(shadow.color), grow: shadow.grow }
}

type ColouredShadow = ShadowLayer & { readonly colour: Colour; readonly grow: boolean }

function checkSize(photo: Size, images: readonly Size[], pixelsMax: number): void {
  const allowed = Math.max(photo.width * photo.height, pixelsMax)
  const large = images.find(({ width, height }) => width * height > allowed)
  if (large === undefined) return
  throw new ImageError(
    'INPUT_TOO_LARGE',
    `With its shadow, the image is ${large.width} x ${large.height} pixels, and at most ${allowed} are allowed. ` +
      'Leave shadow.grow out, or send a smaller photo.',
  )
}

type Size = { readonly width: number; readonly height: number }
type Pixels = Size & Pick<CutOut, 'rgba'>

type Colours = { readonly backdrop: Colour; readonly keepsAlpha: boolean }

function colour(
  image: Pixels,
  window: Box,
  { backdrop, keepsAlpha }: Colours,
): Pick<ResultImage, 'pixels' | 'channels'> {
  if (backdrop.alpha === 0) return { pixels: takeWindow(image, window), channels: 4 }
  const channels = backdrop.alpha === 255 && !keepsAlpha ? 3 : 4
  return { pixels: layOver(image, window, backdrop, channels), channels }
}

const sizeOf = ({ width, height }: Size): Size => ({ width, height })

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

const isWhole = ({ top, left, ...window }: Box, { width, height }: Size): boolean =>
  top === 0 && left === 0 && window.width === width && window.height === height

type Window = Pick<ResultImage, 'width' | 'height' | 'foreground' | 'canvas'> & {
  /** Part of the photo that becomes the image; extends beyond the photo if it grows for a shadow. */
  readonly window: Box
}

type Layers = { readonly backdrop: Colour; readonly shadow: ColouredShadow | undefined }

function findWindow(cutOut: CutOut, output: Output, { backdrop, shadow }: Layers): Window {
  const { foreground } = cutOut
  const photo = { top: 0, left: 0, ...sizeOf(cutOut) }
  if (foreground === null) return { ...sizeOf(photo), foreground, window: photo }
  const frame = output.crop ? cropWindow(foreground, output.cropMargin, cutOut) : photo
  const subject = placeSubject(within(frame, foreground), frame, output)
  if (subject === undefined) {
    const window = shadow?.grow ? joinBoxes(frame, shadow.box) : frame
    return { ...sizeOf(window), foreground: within(window, foreground), window }
  }
  const whole = shadow ? joinBoxes(foreground, shadow.box) : foreground
  const { window, ...canvas } = placePiece(
    whole,
    { from: foreground, to: subject, canvas: frame },
    shadow?.grow ?? false,
  )
  return { ...sizeOf(window), foreground: within(window, foreground), window, canvas: { ...canvas, backdrop } }
}

const within = (window: Box, { top, left, ...size }: Box): Box => ({
  top: top - window.top,
  left: left - window.left,
  ...size,
})

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

function takeAlpha({ rgba, width, height }: CutOut, window: Box): Uint8Array<ArrayBuffer> {
  const alpha = new Uint8Array(window.width * window.height)
  const shown = overlap(window, { width, height })
  for (let y = shown.top; y < shown.top + shown.height; y++) {
    let from = (y * width + shown.left) * 4 + 3
    let to = (y - window.top) * window.width + shown.left - window.left
    for (let x = 0; x < shown.width; x++, from += 4) alpha[to++] = rgba[from] as number
  }
  return alpha
}

/** The photo's part of a window; without width if they do not meet. */
export function overlap({ top, left, width, height }: Box, photo: Size): Box {
  const from = { top: Math.max(0, top), left: Math.max(0, left) }
  return {
    ...from,
    width: Math.max(0, Math.min(photo.width, left + width) - from.left),
    height: Math.max(0, Math.min(photo.height, top + height) - from.top),
  }
}

function takeWindow({ rgba, width, height }: Pixels, window: Box): Uint8Array<ArrayBuffer> {
  if (isWhole(window, { width, height })) return rgba
  const shown = overlap(window, { width, height })
  const part = new Uint8Array(window.width * window.height * 4)
  for (let y = shown.top; y < shown.top + shown.height; y++) {
    const from = (y * width + shown.left) * 4
    const to = ((y - window.top) * window.width + shown.left - window.left) * 4
    part.set(rgba.subarray(from, from + shown.width * 4), to)
  }
  return part
}

function layOver({ rgba, width }: Pixels, window: Box, backdrop: Colour, channels: 3 | 4): Uint8Array<ArrayBuffer> {
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
