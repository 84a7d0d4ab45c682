import type { Picture } from '../data/case.ts'
import { connectivityError } from './connectivity.ts'
import { fringeError } from './fringe.ts'
import { gradientError } from './gradient.ts'
import { boundaryScore, intersectionOverUnion } from './outline.ts'

/** Scores of one cut-out over the whole picture, without a trimap. Lower is better, except `iou` and `boundary`. */
export type Scores = {
  /** Sum of absolute differences of alpha, in thousands. */
  readonly sad: number
  readonly mse: number
  readonly mad: number
  /** In thousands, as in published tables; so is `conn`. */
  readonly grad: number
  readonly conn: number
  readonly iou: number
  readonly boundary: number
  /** Null if the true colours are unknown or every pixel is clear or solid. */
  readonly fringe: number | null
}

export function measure({ truth, hasColours }: Picture, result: Uint8Array): Scores {
  const { width, height, rgba } = truth
  if (result.length !== rgba.length) {
    throw new Error(`a result of ${result.length} bytes is not one of ${width} x ${height}`)
  }
  const [wanted, found] = [takeAlpha(rgba), takeAlpha(result)]
  let [sum, squares] = [0, 0]
  for (let i = 0; i < wanted.length; i++) {
    const difference = Math.abs((found[i] as number) - (wanted[i] as number))
    sum += difference
    squares += difference * difference
  }
  return {
    sad: sum / 1000,
    mse: squares / wanted.length,
    mad: sum / wanted.length,
    grad: gradientError(wanted, found, width) / 1000,
    conn: connectivityError(wanted, found, width) / 1000,
    iou: intersectionOverUnion(wanted, found),
    boundary: boundaryScore(wanted, found, width),
    fringe: hasColours ? fringeError(rgba, result) : null,
  }
}

function takeAlpha(rgba: Uint8Array): Float32Array {
  const alpha = new Float32Array(rgba.length / 4)
  for (let i = 0; i < alpha.length; i++) alpha[i] = (rgba[i * 4 + 3] as number) / 255
  return alpha
}
