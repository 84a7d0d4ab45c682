// Targets for the reported half: met, missed, or not measured in this run.

import type { Scores } from '../metrics/measure.ts'
import { isPeer } from '../peers/run-peers.ts'
import { meanOf, plain, type Row, worstPictures } from './table.ts'

export type Target = { readonly name: string; readonly isMet: boolean; readonly detail: string }

/** Other programs are compared on the pictures that both did. */
export function judge(rows: readonly Row[], own: string): Target[] {
  const others = [...new Set(rows.map(({ variant }) => variant))].filter(
    (variant) => variant === plain || isPeer(variant),
  )
  const against = (other: string, metric: keyof Scores): readonly [own: number, other: number] => {
    const theirs = rows.filter(({ variant }) => variant === other)
    const pictures = new Set(theirs.map(({ picture }) => picture))
    const ours = rows.filter(({ variant, picture }) => variant === own && pictures.has(picture))
    return [meanOf(ours, metric) ?? Number.NaN, meanOf(theirs, metric) ?? Number.NaN]
  }
  const atMost = (other: string, metric: keyof Scores, share: number): Target => {
    const [ours, theirs] = against(other, metric)
    const name = `${metric} ÷ that of ${other} ≤ ${share}`
    return { name, isMet: ours <= theirs * share, detail: `${(ours / theirs).toFixed(3)}` }
  }
  const atLeast = (other: string, metric: keyof Scores): Target => {
    const [ours, theirs] = against(other, metric)
    return {
      name: `${metric} ≥ that of ${other}`,
      isMet: ours >= theirs,
      detail: `${ours.toFixed(4)}, ${theirs.toFixed(4)}`,
    }
  }
  return [
    atMost(plain, 'grad', 0.75),
    atMost(plain, 'fringe', 0.5),
    ...others.filter((other) => other.startsWith('rembg')).map((other) => atMost(other, 'grad', 1)),
    ...others.flatMap((other) => [atMost(other, 'mad', 1), atLeast(other, 'iou')]),
    ...(['mad', 'grad'] as const).map((metric) => noneWorse(rows, own, metric)),
  ]
}

const worseMax = 1.1

function noneWorse(rows: readonly Row[], own: string, metric: 'mad' | 'grad'): Target {
  const worse = worstPictures(rows, own, metric).filter(({ ratio }) => ratio > worseMax)
  const names = worse.slice(0, 3).map(({ picture, ratio }) => `${picture} ×${ratio.toFixed(2)}`)
  const detail = worse.length === 0 ? 'none' : `${worse.length}: ${names.join(', ')}${worse.length > 3 ? ', …' : ''}`
  return { name: `no picture's ${metric} ÷ that of ${plain} above ${worseMax}`, isMet: worse.length === 0, detail }
}

export const formatTargets = (targets: readonly Target[]): string =>
  targets.map(({ name, isMet, detail }) => `  ${isMet ? 'met   ' : 'MISSED'} ${name}: ${detail}`).join('\n')
