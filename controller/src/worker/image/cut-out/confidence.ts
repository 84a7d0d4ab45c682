// Confidence of a result: the probability that its mask covers the subject (an IoU of at least 0.85), by a logistic
// regression over pictures with known alpha. docs/quality.md has its curve and the command that fits the weights.
// It reads the grid and the masks once, 0.5 ms in all.
import type { MaskCells } from './mask-cells.ts'
import type { CellColours } from './sample-cells.ts'

export type Views = {
  /** Common part of the two views' masks, 0 to 1; undefined with one view. */
  readonly agreement: number | undefined
  /** The model's masks have only 0 and 255, which say nothing about their certainty. */
  readonly isHard: boolean
}

/** Compares the masks before they are joined. `other` is mirrored back. */
export function measureViews(mask: Uint8Array, other?: Uint8Array): Views {
  const isHard = mask.every((value) => value === 0 || value === 255)
  if (other === undefined) return { agreement: undefined, isHard }
  let [common, total] = [0, 0]
  for (let i = 0; i < mask.length; i++) {
    const [own, others] = [mask[i] as number, other[i] as number]
    common += Math.min(own, others)
    total += Math.max(own, others)
  }
  return { agreement: total === 0 ? 1 : common / total, isHard }
}

export type Refined = {
  readonly cells: MaskCells
  /** Alpha of the cells, 0 to 1. */
  readonly alpha: Float32Array
  readonly colours: CellColours
}

/** Measures of a result, each limited so that none decides alone. */
export function measureResult({ cells, alpha, colours }: Refined, { agreement }: Views): readonly number[] {
  const { gridSize, probability } = cells
  const mask = measureEdge(probability, gridSize, 0.2)
  const matte = measureEdge(alpha, gridSize, 0.1)
  // Cells of a finer grid are smaller parts of the picture.
  const unit = standardGrid / gridSize
  return [
    Math.min(0.5, mask.partial / Math.max(1, mask.solid)),
    Math.log(0.1 + Math.min(6, (unit * mask.partial) / Math.max(1, mask.outline))),
    Math.log(0.1 + Math.min(3, (unit * matte.partial) / Math.max(1, matte.outline))),
    Math.min(0.3, measureOverlap(alpha, colours, gridSize)),
    ...(agreement === undefined ? [] : [Math.min(0.3, 1 - agreement)]),
  ]
}

const standardGrid = 160

/** Weights of the measures, after a constant. */
const weights = {
  oneView: [1.78, -7.55, -2.78, 4.06, -13.49],
  twoViews: [1.98, -5.12, -2.26, 3.53, -13.29, -3.56],
} as const

/** 0 to 1 in steps of 0.01; undefined for hard masks. */
export function confidenceOf(refined: Refined, views: Views): number | undefined {
  if (views.isHard) return undefined
  const [constant, ...rest] = views.agreement === undefined ? weights.oneView : weights.twoViews
  const score = measureResult(refined, views).reduce((sum, value, i) => sum + value * (rest[i] as number), constant)
  // Rounded down: a result with 0.9 has at least that.
  return Math.floor(100 / (1 + Math.exp(-score))) / 100
}

/** Below this confidence, a result counts as without a subject for tasks that pay for subjects only. */
const subjectMin = 0.1

type Result = { readonly foreground: object | null; readonly confidence: number | undefined }

export const isSubject = ({ foreground, confidence = 1 }: Result): boolean =>
  foreground !== null && confidence >= subjectMin

type Edge = { readonly partial: number; readonly solid: number; readonly outline: number }

/** Counts cells: partial ones (`margin` from 0 and 1), solid ones, and those inside with a neighbour outside. */
function measureEdge(plane: Float32Array, gridSize: number, margin: number): Edge {
  let [partial, solid, outline] = [0, 0, 0]
  for (let y = 0, i = 0; y < gridSize; y++) {
    for (let x = 0; x < gridSize; x++, i++) {
      const value = plane[i] as number
      if (value >= 1 - margin) solid++
      else if (value > margin) partial++
      if (value < 0.5) continue
      const isEdge =
        (x > 0 && (plane[i - 1] as number) < 0.5) ||
        (x < gridSize - 1 && (plane[i + 1] as number) < 0.5) ||
        (y > 0 && (plane[i - gridSize] as number) < 0.5) ||
        (y < gridSize - 1 && (plane[i + gridSize] as number) < 0.5)
      if (isEdge) outline++
    }
  }
  return { partial, solid, outline }
}

// Four levels per channel: few enough bins for the cells of a block.
const levels = 4
const bins = levels ** 3
/** A block is 2 × 2 tiles, an eighth of the picture wide; blocks overlap by half. */
const tiles = 16
/** Alpha from which a cell is inside, and 1 minus the limit outside. */
const insideFrom = 0.95
/** Share of a block that must be inside, and outside, to compare them. */
const shareMin = 0.1

/**
 * Common part of the colours inside and outside of the outline, 0 to 1: the mean over blocks with both, by their cells
 * inside. 1 without such a block. A mesh or a bundle of wires cut out as one piece shares its colours with what is
 * behind it.
 */
function measureOverlap(alpha: Float32Array, colours: CellColours, gridSize: number): number {
  const cellsMin = shareMin * ((2 * gridSize) / tiles) ** 2
  const { inside, outside } = countColours(alpha, colours, gridSize)
  let [sum, weight] = [0, 0]
  for (let y = 0; y + 1 < tiles; y++) {
    for (let x = 0; x + 1 < tiles; x++) {
      const corner = y * tiles + x
      const [own, others] = [sumBlock(inside.totals, corner, 1, 0), sumBlock(outside.totals, corner, 1, 0)]
      if (own < cellsMin || others < cellsMin) continue
      for (let bin = 0; bin < bins; bin++) {
        const shareInside = sumBlock(inside.counts, corner, bins, bin) / own
        sum += own * Math.min(shareInside, sumBlock(outside.counts, corner, bins, bin) / others)
      }
      weight += own
    }
  }
  return weight === 0 ? 1 : sum / weight
}

/** Sum of one value of the four tiles of a block; a tile has `length` values. */
const sumBlock = (values: Uint32Array, corner: number, length: number, at: number): number =>
  (values[corner * length + at] as number) +
  (values[(corner + 1) * length + at] as number) +
  (values[(corner + tiles) * length + at] as number) +
  (values[(corner + tiles + 1) * length + at] as number)

const newCounts = () => ({ counts: new Uint32Array(tiles * tiles * bins), totals: new Uint32Array(tiles * tiles) })

/** Cells by tile and colour. */
function countColours(alpha: Float32Array, [red, green, blue]: CellColours, gridSize: number) {
  const [inside, outside] = [newCounts(), newCounts()]
  const tileOf = Int32Array.from({ length: gridSize }, (_, at) => Math.floor((at * tiles) / gridSize))
  for (let y = 0, i = 0; y < gridSize; y++) {
    for (let x = 0; x < gridSize; x++, i++) {
      const value = alpha[i] as number
      if (value < insideFrom && value > 1 - insideFrom) continue
      const { counts, totals } = value >= insideFrom ? inside : outside
      const tile = (tileOf[y] as number) * tiles + (tileOf[x] as number)
      const bin = (levelOf(red[i]) * levels + levelOf(green[i])) * levels + levelOf(blue[i])
      counts[tile * bins + bin] = (counts[tile * bins + bin] as number) + 1
      totals[tile] = (totals[tile] as number) + 1
    }
  }
  return { inside, outside }
}

const levelOf = (value: number | undefined): number => Math.min(levels - 1, Math.floor((value as number) * levels))
