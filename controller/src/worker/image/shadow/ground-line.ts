// Where a subject touches the ground: the lower edge of its convex hull, like a board that is pressed against it from
// below. It joins the wheels of a car and the feet of a chair, and rises steeply where the subject only overhangs.
import type { CutOut } from '../cut-out/cut-out.ts'
import type { Box } from '../cut-out/foreground.ts'

export type Subject = CutOut & { readonly foreground: Box }

export type GroundLine = {
  /** Row of the line for each column of the subject's box, from its top; NaN beside the solid parts. */
  readonly rows: Float64Array
  /** How close the ground is, 0..1: 0 where the line is steep or high. */
  readonly contact: Float64Array
}

/** Alpha of solid parts: hair and motion blur touch no ground. */
const solidMin = 128
/** Steepest line that still follows a ground seen from above, as rows per column. */
const slopeMax = 0.45
/** Highest part of the line above its lowest, as a share of the box's height: a wheel at the back. */
const riseMax = 0.25

/** Without contact anywhere if no part of the subject is solid. */
export function findGroundLine(subject: Subject): GroundLine {
  const { width, height } = subject.foreground
  const corners = hullCorners(lowestRows(subject))
  const rows = new Float64Array(width).fill(Number.NaN)
  const contact = new Float64Array(width)
  const lowest = Math.max(...corners.map(({ y }) => y))
  for (const [index, from] of corners.entries()) {
    const to = corners[index + 1] ?? from
    const slope = to.x === from.x ? 0 : (to.y - from.y) / (to.x - from.x)
    const level = Math.max(0, 1 - (slope / slopeMax) ** 2)
    for (let x = from.x; x <= to.x; x++) {
      const row = from.y + slope * (x - from.x)
      rows[x] = row
      const closeness = Math.max(0, 1 - ((lowest - row) / (riseMax * height)) ** 2)
      // A corner belongs to two segments, one of which may be steep.
      contact[x] = Math.max(contact[x] as number, level * closeness)
    }
  }
  return { rows, contact }
}

/** -1 for a column without a solid part. */
function lowestRows({ rgba, width, foreground }: Subject): Int32Array {
  const lowest = new Int32Array(foreground.width).fill(-1)
  let missing = foreground.width
  for (let y = foreground.height - 1; y >= 0 && missing > 0; y--) {
    let at = ((foreground.top + y) * width + foreground.left) * 4 + 3
    for (let x = 0; x < foreground.width; x++, at += 4) {
      if ((rgba[at] as number) < solidMin || (lowest[x] as number) >= 0) continue
      lowest[x] = y
      missing--
    }
  }
  return lowest
}

type Point = { readonly x: number; readonly y: number }

/** Lower hull by Andrew's monotone chain, from left to right. Rows count downwards, so a lower one is larger. */
function hullCorners(lowest: Int32Array): Point[] {
  const corners: Point[] = []
  for (let x = 0; x < lowest.length; x++) {
    const y = lowest[x] as number
    if (y < 0) continue
    while (corners.length > 1 && !isCorner(corners.at(-2) as Point, corners.at(-1) as Point, { x, y })) corners.pop()
    corners.push({ x, y })
  }
  return corners
}

/** True if the middle point lies below the line from the first to the last. */
const isCorner = (first: Point, middle: Point, last: Point): boolean =>
  (middle.x - first.x) * (last.y - first.y) - (middle.y - first.y) * (last.x - first.x) < 0
