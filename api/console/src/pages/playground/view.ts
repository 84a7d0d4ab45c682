// Zoom and position of the comparison, in CSS pixels from its centre.

export type View = { readonly x: number; readonly y: number; readonly scale: number }
type Point = { readonly x: number; readonly y: number }

export const fitView: View = { x: 0, y: 0, scale: 1 }

const [scaleMin, scaleMax] = [1, 64]

export const move = (view: View, by: Point): View =>
  view.scale === scaleMin ? fitView : { ...view, x: view.x + by.x, y: view.y + by.y }

/** Keeps the point of the image below `at` where it is. */
export function zoomAt(view: View, factor: number, at: Point): View {
  const scale = Math.min(scaleMax, Math.max(scaleMin, view.scale * factor))
  if (scale === scaleMin) return fitView
  const change = scale / view.scale
  return { scale, x: at.x - (at.x - view.x) * change, y: at.y - (at.y - view.y) * change }
}
