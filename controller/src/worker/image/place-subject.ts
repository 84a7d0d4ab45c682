// Geometry of output options: the region, the crop, and the place of the subject. Pure; apply-output.ts moves pixels.
import type { Output, Region } from '@matte/core/db/tables/task'
import type { Box } from './cut-out/foreground.ts'

type Size = { readonly width: number; readonly height: number }

/** In whole pixels of the photo; without area when it lies outside. */
export function regionBox({ left, top, right, bottom }: Region, { width, height }: Size): Box {
  const fromLeft = edgePixels(left, width)
  const fromTop = edgePixels(top, height)
  return {
    left: fromLeft,
    top: fromTop,
    width: Math.max(0, edgePixels(right, width) - fromLeft),
    height: Math.max(0, edgePixels(bottom, height) - fromTop),
  }
}

const edgePixels = (edge: string, side: number): number => Math.min(side, Math.round(lengthOf(edge, side)))

/** Pixels of `20px` or `5%`. */
const lengthOf = (text: string, whole: number): number =>
  text.endsWith('%') ? (Number.parseInt(text, 10) / 100) * whole : Number.parseInt(text, 10)

/** The foreground's box with its margins, within the photo. */
export function cropWindow(foreground: Box, margin: string, { width, height }: Size): Box {
  const longer = Math.max(foreground.width, foreground.height)
  const [top = 0, right = top, bottom = top, left = right] = margin
    .split(' ')
    .map((part) => Math.round(lengthOf(part, longer)))
  const from = { top: Math.max(0, foreground.top - top), left: Math.max(0, foreground.left - left) }
  return {
    ...from,
    width: Math.min(width, foreground.left + foreground.width + right) - from.left,
    height: Math.min(height, foreground.top + foreground.height + bottom) - from.top,
  }
}

/** Box of the subject in a canvas, with fractions; undefined if it stays where and as it is. */
export function placeSubject(
  subject: Box,
  canvas: Size,
  { scale, position }: Pick<Output, 'scale' | 'position'>,
): Box | undefined {
  if (scale === 'original' && position === 'original') return undefined
  const factor = scale === 'original' ? 1 : factorOf(subject, canvas, lengthOf(scale, 1))
  const size = { width: subject.width * factor, height: subject.height * factor }
  const [across, down] = shares(position)
  return {
    ...size,
    left: offset(across, { length: size.width, of: canvas.width, centre: subject.left + subject.width / 2 }),
    top: offset(down, { length: size.height, of: canvas.height, centre: subject.top + subject.height / 2 }),
  }
}

/** The side that fills more of the canvas gets the share, so the subject never exceeds the canvas. */
const factorOf = (subject: Size, canvas: Size, share: number): number =>
  Math.min((share * canvas.width) / subject.width, (share * canvas.height) / subject.height)

/** Undefined: keeps its centre. */
function shares(position: string): readonly [number | undefined, number | undefined] {
  if (position === 'original') return [undefined, undefined]
  if (position === 'center') return [0.5, 0.5]
  const [across = '', down = ''] = position.split(' ')
  return [lengthOf(across, 1), lengthOf(down, 1)]
}

type Extent = { readonly length: number; readonly of: number; readonly centre: number }

function offset(share: number | undefined, { length, of, centre }: Extent): number {
  const free = of - length
  if (share !== undefined) return free * share
  return Math.max(0, Math.min(free, centre - length / 2))
}

/** The smallest box that holds both. */
export function joinBoxes(one: Box, other: Box): Box {
  const top = Math.min(one.top, other.top)
  const left = Math.min(one.left, other.left)
  return {
    top,
    left,
    width: Math.max(one.left + one.width, other.left + other.width) - left,
    height: Math.max(one.top + one.height, other.top + other.height) - top,
  }
}

type Placement = { readonly from: Box; readonly to: Box; readonly canvas: Size }
type PlacedPiece = Size & { readonly window: Box; readonly piece: Box }

/**
 * Places a subject's box with its shadow, `whole`, where `to` puts the subject's box, `from`. The canvas grows to hold
 * the shadow, or the shadow is cut at its edge. The size is the canvas's, `window` the shown part of `whole`, and
 * `piece` its place.
 */
export function placePiece(whole: Box, { from, to, canvas }: Placement, grow: boolean): PlacedPiece {
  const factor = to.width / from.width
  const placed = {
    left: to.left - (from.left - whole.left) * factor,
    top: to.top - (from.top - whole.top) * factor,
    width: whole.width * factor,
    height: whole.height * factor,
  }
  const frame = { left: 0, top: 0, width: canvas.width, height: canvas.height }
  if (grow) {
    const { left, top, ...size } = joinBoxes(frame, roundOutwards(placed))
    return { ...size, window: whole, piece: { ...placed, left: placed.left - left, top: placed.top - top } }
  }
  // The shown part ends on a whole pixel of the photo beyond the canvas's edge.
  const cut = (excess: number): number => Math.max(0, Math.floor(excess / factor))
  const left = cut(-placed.left)
  const top = cut(-placed.top)
  const right = cut(placed.left + placed.width - canvas.width)
  const bottom = cut(placed.top + placed.height - canvas.height)
  const window = {
    left: whole.left + left,
    top: whole.top + top,
    width: whole.width - left - right,
    height: whole.height - top - bottom,
  }
  const begin = { left: Math.max(0, placed.left + left * factor), top: Math.max(0, placed.top + top * factor) }
  const end = {
    left: Math.min(canvas.width, placed.left + placed.width - right * factor),
    top: Math.min(canvas.height, placed.top + placed.height - bottom * factor),
  }
  const piece = { ...begin, width: end.left - begin.left, height: end.top - begin.top }
  return { width: canvas.width, height: canvas.height, window, piece }
}

/** Fractions that come from rounding add no pixel. */
function roundOutwards({ left, top, width, height }: Box): Box {
  const from = { left: Math.floor(left + 1e-6), top: Math.floor(top + 1e-6) }
  return {
    ...from,
    width: Math.ceil(left + width - 1e-6) - from.left,
    height: Math.ceil(top + height - 1e-6) - from.top,
  }
}

/** In whole pixels, within the canvas. `factor` is the scale of the result to the canvas, for each axis. */
export function roundBox(box: Box, factor: Size, within: Size): Box {
  const width = Math.min(within.width, Math.max(1, Math.round(box.width * factor.width)))
  const height = Math.min(within.height, Math.max(1, Math.round(box.height * factor.height)))
  return {
    left: Math.min(within.width - width, Math.round(box.left * factor.width)),
    top: Math.min(within.height - height, Math.round(box.top * factor.height)),
    width,
    height,
  }
}

type Limits = Pick<Output, 'maxSide' | 'maxPixels'>

/** Size of the result: scaled down to both limits, never up. */
export function limitSize({ width, height }: Size, { maxSide, maxPixels }: Limits): Size {
  const bySide = (maxSide ?? Infinity) / Math.max(width, height)
  const byPixels = Math.sqrt((maxPixels ?? Infinity) / (width * height))
  const scale = Math.min(1, bySide, byPixels)
  const limited = { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) }
  return maxPixels === null ? limited : trim(limited, maxPixels)
}

/** Rounding can exceed the limit by a row or a column. */
function trim({ width, height }: Size, maxPixels: number): Size {
  if (width * height <= maxPixels) return { width, height }
  return width >= height
    ? { width: Math.max(1, Math.floor(maxPixels / height)), height: Math.min(height, maxPixels) }
    : { width: Math.min(width, maxPixels), height: Math.max(1, Math.floor(maxPixels / width)) }
}
