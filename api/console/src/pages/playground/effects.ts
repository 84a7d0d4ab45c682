// Options of a result, and their effect on the cut-out in this browser. The service does the same for `output`.

import { drawShadow, type ShadowKind } from './draw-shadow.ts'

export const formats = ['png', 'webp', 'jpeg'] as const
export type Format = (typeof formats)[number]

export type Effects = {
  readonly format: Format
  /** `transparent` or `#rrggbb`. */
  readonly background: string
  readonly crop: boolean
  /** Percentage of the longer side of the foreground's box. */
  readonly cropMargin: number
  /** Longer side in pixels. Undefined: the size of the photo. */
  readonly maxSide: number | undefined
  readonly shadow: ShadowKind | undefined
}

export const noEffects: Effects = {
  format: 'png',
  background: 'transparent',
  crop: false,
  cropMargin: 0,
  maxSide: undefined,
  shadow: undefined,
}

type Box = { readonly left: number; readonly top: number; readonly width: number; readonly height: number }
type Size = { readonly width: number; readonly height: number }

/** Part of the cut-out that is kept, and the size that it gets. */
export function planResult(
  size: Size,
  foreground: Box | null,
  effects: Effects,
): { readonly from: Box; readonly to: Size } {
  const from = effects.crop && foreground !== null ? withMargin(size, foreground, effects.cropMargin) : whole(size)
  const longer = Math.max(from.width, from.height)
  const scale = effects.maxSide === undefined ? 1 : Math.min(1, effects.maxSide / longer)
  const to = {
    width: Math.max(1, Math.round(from.width * scale)),
    height: Math.max(1, Math.round(from.height * scale)),
  }
  return { from, to }
}

const whole = ({ width, height }: Size): Box => ({ left: 0, top: 0, width, height })

/** The margin ends at the edge of the image. */
function withMargin(size: Size, box: Box, percent: number): Box {
  const margin = Math.round((Math.max(box.width, box.height) * percent) / 100)
  const left = Math.max(0, box.left - margin)
  const top = Math.max(0, box.top - margin)
  return {
    left,
    top,
    width: Math.min(size.width, box.left + box.width + margin) - left,
    height: Math.min(size.height, box.top + box.height + margin) - top,
  }
}

export type OutputValue = string | number | boolean | { readonly kind: ShadowKind }

/** `output` of the request, without the members that have their default. */
export function toOutput(effects: Effects): Readonly<Record<string, OutputValue>> {
  const { format, background, crop, cropMargin, maxSide, shadow } = effects
  return {
    ...(format !== noEffects.format && { format }),
    ...(background !== noEffects.background && { background }),
    ...(crop && { crop }),
    ...(crop && cropMargin > 0 && { cropMargin: `${cropMargin}%` }),
    ...(maxSide !== undefined && { maxSide }),
    ...(shadow !== undefined && { shadow: { kind: shadow } }),
  }
}

const quality = 0.9

/** Draws the result as a file. JPEG has white under transparency. */
export async function renderResult(cutOut: Blob, foreground: Box | null, effects: Effects): Promise<Blob & Size> {
  const bitmap = await createImageBitmap(cutOut)
  try {
    const { from, to } = planResult(bitmap, foreground, effects)
    const canvas = new OffscreenCanvas(to.width, to.height)
    const context = canvas.getContext('2d')
    if (context === null) throw new Error('This browser cannot draw.')
    const background =
      effects.background === 'transparent' && effects.format === 'jpeg' ? '#ffffff' : effects.background
    if (background !== 'transparent') {
      context.fillStyle = background
      context.fillRect(0, 0, to.width, to.height)
    }
    context.imageSmoothingQuality = 'high'
    if (effects.shadow !== undefined && foreground !== null) {
      const matrix = new DOMMatrix()
        .scale(to.width / from.width, to.height / from.height)
        .translate(-from.left, -from.top)
      drawShadow(context, effects.shadow, { bitmap, foreground, matrix })
    }
    context.drawImage(bitmap, from.left, from.top, from.width, from.height, 0, 0, to.width, to.height)
    const blob = await canvas.convertToBlob({ type: `image/${effects.format}`, quality })
    return Object.assign(blob, to)
  } finally {
    bitmap.close()
  }
}
