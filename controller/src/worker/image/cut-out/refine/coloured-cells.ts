import type { CellColours } from '../sample-cells.ts'
import type { CellList } from './window-sums.ts'

export type ColouredCells = CellList & { readonly rgb: Float32Array }

export function colourCells([reds, greens, blues]: CellColours, list: CellList): ColouredCells {
  const rgb = new Float32Array(list.cells.length * 3)
  for (let i = 0, to = 0; to < rgb.length; i++, to += 3) {
    const cell = list.cells[i] as number
    rgb[to] = reds[cell] as number
    rgb[to + 1] = greens[cell] as number
    rgb[to + 2] = blues[cell] as number
  }
  return { ...list, rgb }
}
