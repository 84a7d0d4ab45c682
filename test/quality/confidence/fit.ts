// Weights of the confidence: a logistic regression with a small penalty, by Newton's method.
import { type Measured, rightFrom } from './measure-pictures.ts'

const penalty = 1
const steps = 30

/** The constant, then the weight of each measure. */
export function fitWeights(all: readonly Measured[]): number[] {
  const found = all.filter(({ measures }) => measures.length > 0)
  const count = (found[0]?.measures.length ?? 0) + 1
  const means = Array.from({ length: count }, (_, i) => (i === 0 ? 0 : meanOf(found, i - 1)))
  const scales = Array.from({ length: count }, (_, i) =>
    i === 0 ? 1 : Math.sqrt(meanOf(found, i - 1, (value) => (value - (means[i] as number)) ** 2)) || 1,
  )
  const rows = found.map((one) => ({
    x: [1, ...one.measures].map((value, i) => (value - (means[i] as number)) / (scales[i] as number)),
    y: isRight(one) ? 1 : 0,
  }))
  let weights = new Array<number>(count).fill(0)
  for (let step = 0; step < steps; step++) {
    const gradient = weights.map((value, i) => (i === 0 ? 0 : -penalty * value))
    const hessian = weights.map((_, i) => weights.map((__, j) => (i === j ? (i === 0 ? 1e-9 : penalty) : 0)))
    for (const { x, y } of rows) {
      const share = 1 / (1 + Math.exp(-dot(x, weights)))
      for (let i = 0; i < count; i++) {
        gradient[i] = (gradient[i] as number) + (y - share) * (x[i] as number)
        const line = hessian[i] as number[]
        for (let j = 0; j < count; j++) {
          line[j] = (line[j] as number) + share * (1 - share) * (x[i] as number) * (x[j] as number)
        }
      }
    }
    const change = solve(hessian, gradient)
    weights = weights.map((value, i) => value + (change[i] as number))
  }
  const plain = weights.map((value, i) => value / (scales[i] as number))
  const shift = plain.reduce((sum, value, i) => sum + value * (means[i] as number), 0)
  return plain.map((value, i) => (i === 0 ? value - shift : value))
}

export const isRight = ({ isEmpty, iou }: Measured): boolean => !isEmpty && iou >= rightFrom

const meanOf = (all: readonly Measured[], at: number, of = (value: number): number => value): number =>
  all.reduce((sum, { measures }) => sum + of(measures[at] as number), 0) / all.length

const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, i) => sum + value * (b[i] as number), 0)

/** Solves a x = b by elimination; `a` is positive definite, so no rows are exchanged. Changes both. */
function solve(a: number[][], b: number[]): number[] {
  for (let i = 0; i < b.length; i++) {
    const line = a[i] as number[]
    for (let k = i + 1; k < b.length; k++) {
      const below = a[k] as number[]
      const factor = (below[i] as number) / (line[i] as number)
      for (let j = i; j < b.length; j++) below[j] = (below[j] as number) - factor * (line[j] as number)
      b[k] = (b[k] as number) - factor * (b[i] as number)
    }
  }
  for (let i = b.length - 1; i >= 0; i--) {
    const line = a[i] as number[]
    let rest = b[i] as number
    for (let j = i + 1; j < b.length; j++) rest -= (line[j] as number) * (b[j] as number)
    b[i] = rest / (line[i] as number)
  }
  return b
}
