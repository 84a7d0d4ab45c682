// Geometry of shadows; pure. image-memory.ts bounds a grown canvas with it before the subject is known, so no length
// may shrink when the subject's box grows.
import type { Shadow } from '@matte/core/db/tables/task'
import type { Deviations } from './box-blur.ts'

type Size = { readonly width: number; readonly height: number }
type Offset = { readonly x: number; readonly y: number }

/** Softest edge, as a share of the shorter side of the subject's box. */
const blurMax = 0.25

function blurPixels({ blur }: Shadow, { width, height }: Size): number {
  const shorter = Math.min(width, height)
  const value = Number.parseInt(blur, 10)
  return Math.min(blurMax * shorter, blur.endsWith('%') ? (value / 100) * shorter : value)
}

/** Depth of a round shadow on the ground beside its width, as the camera sees it. */
const flatness = 0.4
/** The edge of a cast shadow is sharper at its foot. */
const footSoftness = 0.25

export function deviationsOf(shadow: Shadow, box: Size): Deviations {
  // As in CSS, a soft edge is as wide as two standard deviations.
  const deviation = blurPixels(shadow, box) / 2
  if (shadow.kind === 'drop') return { across: [deviation, deviation], down: deviation }
  const down = deviation * flatness
  if (shadow.kind === 'contact') return { across: [deviation, deviation], down }
  const foot = deviation * footSoftness
  return { across: castOffset(shadow, box).y < 0 ? [deviation, foot] : [foot, deviation], down }
}

function directionOf({ angle }: Shadow): Offset {
  const radians = (angle * Math.PI) / 180
  return { x: Math.sin(radians), y: -Math.cos(radians) }
}

/** A subject that floats higher has a softer shadow further away. */
export function dropOffset(shadow: Shadow, box: Size): Offset {
  const distance = Math.max(1, 0.02 * Math.min(box.width, box.height)) + blurPixels(shadow, box) / 2
  const { x, y } = directionOf(shadow)
  return { x: Math.round(x * distance), y: Math.round(y * distance) }
}

/** Length of a cast shadow beside the height of its subject. */
const castLength = 0.8
/** Sideways, in widths of the subject: the shadow of a bottle would otherwise widen the canvas too much. */
const castWidthsMax = 2
/** Depth of a shadow that falls to one side, as a share of its length. */
const castDepthMin = 0.05

/** Distance from the foot of the subject to the shadow of its highest point, in pixels. */
export function castOffset(shadow: Shadow, { width, height }: Size): Offset {
  const { x, y } = directionOf(shadow)
  const length = castLength * height
  const across = Math.max(-castWidthsMax * width, Math.min(castWidthsMax * width, x * length))
  const depth = Math.ceil(Math.max(castDepthMin, Math.abs(y) * flatness) * length)
  return { x: Math.round(across), y: y > 0.01 ? depth : -depth }
}

/** Pixels of a contact shadow below the ground line, without its soft edge. */
export const contactDepth = ({ width, height }: Size): number => Math.ceil(0.05 * Math.min(width, height))

/** Most that a blur adds to both sides together: boxes of 1.88 deviations reach 2.82 on each, and a block adds 0.25. */
const spread = (deviation: number): number => Math.ceil(6 * deviation)

/** At most, of a subject within `box` with its shadow. */
export function sizeWithShadow(shadow: Shadow, box: Size): Size {
  const { across, down } = deviationsOf(shadow, box)
  const { x, y } = offsets[shadow.kind](shadow, box)
  return {
    width: box.width + Math.abs(x) + spread(Math.max(...across)),
    height: box.height + Math.abs(y) + spread(down),
  }
}

const offsets = {
  drop: dropOffset,
  cast: castOffset,
  contact: (_: Shadow, box: Size): Offset => ({ x: 0, y: contactDepth(box) }),
}
