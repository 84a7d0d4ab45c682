// Whether a new revision does as well as the old one, judged by what both did since the present step began.

import type { PoolRollout } from '../pool/pool-spec.ts'
import type { Reason } from '../pool/reasons.ts'

export type Figures = {
  /** Inferences that ended well, that the model failed, that took too long. Pods that were gone are nobody's fault. */
  readonly done: number
  readonly failed: number
  readonly timedOut: number
  /** Mean time of one image in a slot, undefined when none ended. */
  readonly serviceSeconds: number | undefined
}

export type Judged = {
  readonly canary: Figures | undefined
  readonly stable: Figures | undefined
  readonly gate: PoolRollout['gate']
}

export type Breach = { readonly reason: Extract<Reason, 'CanaryErrorRate' | 'CanaryLatency'>; readonly message: string }

const none: Figures = { done: 0, failed: 0, timedOut: 0, serviceSeconds: undefined }

/** Images that it has spoilt. */
const faultsOf = ({ failed, timedOut }: Figures = none): number => failed + timedOut
const imagesOf = (figures: Figures): number => figures.done + faultsOf(figures)
const rateOf = (figures: Figures): number => faultsOf(figures) / Math.max(1, imagesOf(figures))

/** So many images are judged at least: one failure of nine is no rate. */
const goodImages = 20

/**
 * At most one image of ten is spoilt: what a few of five attempts make good, without many pictures meeting it twice. Or no
 * more than the old revision spoils, which is then the pictures' fault.
 */
export const isMostlyGood = (figures: Figures | undefined, stable: Figures | undefined): boolean =>
  faultsOf(figures) <= 0.1 * Math.max(imagesOf(figures ?? none), goodImages) ||
  rateOf(figures ?? none) <= rateOf(stable ?? none)

/**
 * What the new revision has done wrong, undefined while nothing is proved. Errors are judged as soon as there are more
 * than `minRequests` would be allowed, so that a revision that fails at once is taken back at once; and never when the
 * old revision fails as often, which is then the pictures' fault or the network's.
 */
export function findBreach({ canary = none, stable = none, gate }: Judged): Breach | undefined {
  const images = imagesOf(canary)
  const faults = faultsOf(canary)
  if (faults > gate.maxErrorRate * Math.max(images, gate.minRequests) && rateOf(canary) > rateOf(stable)) {
    const allowed = `${percent(gate.maxErrorRate)} are allowed, the old revision has ${percent(rateOf(stable))}`
    return { reason: 'CanaryErrorRate', message: `${faults} of ${images} images failed (${allowed})` }
  }
  if (images < Math.max(1, gate.minRequests)) return undefined
  const { serviceSeconds: slow } = canary
  const { serviceSeconds: usual } = stable
  if (slow === undefined || usual === undefined || usual <= 0 || slow / usual <= gate.maxLatencyRatio) return undefined
  const message =
    `an image takes ${slow.toFixed(3)} s in a slot, ${(slow / usual).toFixed(2)} times the ${usual.toFixed(3)} s of ` +
    `the old revision (${gate.maxLatencyRatio} times are allowed)`
  return { reason: 'CanaryLatency', message }
}

export type Waiting = Judged & { readonly seconds: number; readonly durationSeconds: number }

/** After ten holds with too few images a step goes on all the same: nobody was there to notice. */
const patienceHolds = 10

export const isSeenEnough = ({ canary = none, gate, seconds, durationSeconds }: Waiting): boolean =>
  imagesOf(canary) >= gate.minRequests || seconds >= patienceHolds * durationSeconds

/** What the step still waits for. Without the seconds that pass: a text that changes each second is news each second. */
export function describeGate({ canary = none, gate, durationSeconds }: Waiting): string {
  const images = imagesOf(canary)
  const missing = images < gate.minRequests ? ` and for ${gate.minRequests} images` : ''
  return `the new revision is watched for ${durationSeconds} s${missing}`
}

const percent = (rate: number): string => `${Number((rate * 100).toFixed(1))} %`
