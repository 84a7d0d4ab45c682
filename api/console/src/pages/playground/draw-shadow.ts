// The shadow of a result as this browser draws it: simpler than the service's, with the same sizes.

export const shadowKinds = ['drop', 'contact', 'cast'] as const
export type ShadowKind = (typeof shadowKinds)[number]

type Box = { readonly left: number; readonly top: number; readonly width: number; readonly height: number }
type Scene = {
  readonly bitmap: ImageBitmap
  /** Box of the subject in the bitmap. */
  readonly foreground: Box
  /** Maps pixels of the bitmap to those of the canvas. */
  readonly matrix: DOMMatrix
}

/** Blur in shorter sides of the subject, as wide as two standard deviations, like that of CSS. */
const looks = {
  drop: { opacity: 0.4, blur: 0.08 },
  contact: { opacity: 0.6, blur: 0.06 },
  cast: { opacity: 0.35, blur: 0.03 },
} as const

/** Drawn before the subject. */
export function drawShadow(context: OffscreenCanvasRenderingContext2D, kind: ShadowKind, scene: Scene): void {
  const { bitmap, foreground, matrix } = scene
  const { opacity, blur } = looks[kind]
  const shorter = Math.min(foreground.width, foreground.height)
  context.save()
  context.globalAlpha = opacity
  context.filter = `blur(${(blur / 2) * shorter * matrix.a}px)`
  context.setTransform(matrix.multiply(placeOf(kind, foreground)))
  context.drawImage(silhouetteOf(bitmap, kind === 'contact' ? footOf(foreground) : foreground), 0, 0)
  context.restore()
}

function placeOf(kind: ShadowKind, { top, width, height }: Box): DOMMatrix {
  const shorter = Math.min(width, height)
  const foot = top + height
  // Half of the blur and 2 %, at 150 degrees.
  if (kind === 'drop') return new DOMMatrix([1, 0, 0, 1, 0.03 * shorter, 0.052 * shorter])
  // The lowest part of the subject, flattened around the foot.
  if (kind === 'contact') return new DOMMatrix([1, 0, 0, 0.5, 0, foot * 0.5])
  const across = Math.min(0.69 * height, 2 * width) / height
  return new DOMMatrix([1, 0, -across, 0.16, across * foot, foot * 0.84])
}

const footOf = ({ left, top, width, height }: Box): Box => ({
  left,
  width,
  top: top + height * 0.88,
  height: height * 0.12,
})

/** A part of the subject in black. */
function silhouetteOf(bitmap: ImageBitmap, { left, top, width, height }: Box): OffscreenCanvas {
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height)
  const context = canvas.getContext('2d')
  if (context === null) throw new Error('This browser cannot draw.')
  context.drawImage(bitmap, left, top, width, height, left, top, width, height)
  context.globalCompositeOperation = 'source-in'
  context.fillRect(0, 0, canvas.width, canvas.height)
  return canvas
}
