import { clamp, type MakeScaler } from './scaler.ts'

// Defaults of Knative's config-autoscaler: tick 2 s, stable window 60 s, panic window 10 % of it, panic from 200 % of
// the capacity of ready pods, target 70 % of containerConcurrency (1 here), up to 1000-fold and down to a half a tick.
const tickSeconds = 2
const stableSeconds = 60
const panicSeconds = 6
const panicThreshold = 2
const targetConcurrency = 0.7
const maxScaleUpRate = 1_000
const maxScaleDownRate = 2

/**
 * Knative's pod autoscaler on concurrency, by the rules of knative/serving, pkg/autoscaler/scaling/autoscaler.go. It
 * sees all waiting requests, as with the activator in the path; without it a real one sees only those in its ready
 * pods.
 */
export const knative: MakeScaler = (setting) => {
  let panickedAt: number | undefined
  let maxPanicPods = 0
  return ({ now, desired, ready, meanInPool }) => {
    if (now === 0 || now % tickSeconds !== 0) return desired
    const readyPods = Math.max(1, ready)
    const within = (pods: number) =>
      Math.min(Math.max(pods, Math.floor(readyPods / maxScaleDownRate)), Math.ceil(maxScaleUpRate * readyPods))
    const stable = Math.ceil(meanInPool(Math.max(0, now - stableSeconds), now) / targetConcurrency)
    const panic = Math.ceil(meanInPool(Math.max(0, now - panicSeconds), now) / targetConcurrency)

    if (panic / readyPods >= panicThreshold) panickedAt = now
    else if (panickedAt !== undefined && panickedAt + stableSeconds < now) {
      panickedAt = undefined
      maxPanicPods = 0
    }
    if (panickedAt === undefined) return clamp(within(stable), setting)
    maxPanicPods = Math.max(maxPanicPods, within(stable), within(panic))
    return clamp(maxPanicPods, setting)
  }
}
