// The picture in most files: a colour in each quarter shows orientation and colours.
import type { Corners } from './outcome.ts'

export const size = { width: 48, height: 32 } as const
/** All channels differ; rust is within every tested gamut. */
export const corners = [
  [200, 60, 30],
  [40, 160, 70],
  [50, 80, 190],
  [220, 210, 120],
] as const satisfies Corners
export const greys = [20, 90, 160, 230] as const

export const quarter = (x: number, y: number): 0 | 1 | 2 | 3 =>
  ((x < size.width / 2 ? 0 : 1) + (y < size.height / 2 ? 0 : 2)) as 0 | 1 | 2 | 3
