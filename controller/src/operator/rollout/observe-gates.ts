// Gates of the step in progress with their values, for people. gate.ts and canary-steps.ts decide.
import type { Gate } from '@matte/core/db/tables/operator'
import type { RolloutStatus } from '../pool/pool-status.ts'
import { findBreach, measure, percent } from './gate.ts'
import { elapsedSeconds, observationOf, type RolloutInput } from './rollout-decision.ts'
import { podsInStep } from './share-pods.ts'

/** `next`: the state that the rule has chosen, with the reason of a rollback. Empty without a rollout in progress. */
export function observeGates(input: RolloutInput, next: RolloutStatus): Gate[] {
  const { state, target } = input
  if (state?.canary !== target || state.stable === undefined) return []
  const failed = next.failed?.revision === target ? next.failed.reason : undefined
  const readiness = observeReadiness(input, state.step, failed)
  const step = input.rollout.steps[state.step]
  if (step === undefined) return [readiness]
  const duration = elapsedSeconds(input, state)
  return [
    readiness,
    ...observeRequests(input, state.stable),
    {
      gate: 'duration',
      verdict: duration >= step.durationSeconds ? 'passed' : 'waiting',
      ...{ observed: Math.round(duration), limit: step.durationSeconds },
      sentence: `The step has lasted ${Math.round(duration)} of ${step.durationSeconds} s.`,
    },
  ]
}

function observeReadiness(input: RolloutInput, step: number, failed: string | undefined): Gate {
  const { ready } = observationOf(input, input.target)
  const limit = podsInStep(input, step)
  const isFailed = failed !== undefined && failed !== 'CanaryErrorRate' && failed !== 'CanaryLatency'
  return {
    gate: 'readiness',
    verdict: isFailed ? 'failed' : ready >= limit ? 'passed' : 'waiting',
    ...{ observed: ready, limit },
    sentence: `${ready} of ${limit} pods of the new revision are ready.`,
  }
}

function observeRequests({ counts, target, rollout: { gate } }: RolloutInput, stable: string): Gate[] {
  const judged = { canary: counts.get(target), stable: counts.get(stable), gate }
  const breach = findBreach(judged)
  const { requests, failures, errorRate, usualErrorRate, latencyRatio } = measure(judged)
  const isMeasured = requests > 0
  return [
    {
      gate: 'errorRate',
      verdict: breach?.reason === 'CanaryErrorRate' ? 'failed' : isMeasured ? 'passed' : 'notMeasured',
      ...{ observed: isMeasured ? round(errorRate) : null, limit: gate.maxErrorRate },
      sentence:
        `${failures} of ${requests} requests failed (${percent(gate.maxErrorRate)} are allowed, the old revision has ` +
        `${percent(usualErrorRate)}).`,
    },
    {
      gate: 'latency',
      verdict: breach?.reason === 'CanaryLatency' ? 'failed' : latencyRatio === undefined ? 'notMeasured' : 'passed',
      ...{ observed: latencyRatio === undefined ? null : round(latencyRatio), limit: gate.maxLatencyRatio },
      sentence:
        latencyRatio === undefined
          ? 'One of the revisions has finished no request in this step.'
          : `A request takes ${round(latencyRatio)} times as long as in the old revision ` +
            `(${gate.maxLatencyRatio} times are allowed).`,
    },
    {
      gate: 'requests',
      verdict: requests >= gate.minRequests ? 'passed' : 'waiting',
      ...{ observed: requests, limit: gate.minRequests },
      sentence: `${requests} of ${gate.minRequests} requests have ended in the new revision.`,
    },
  ]
}

const round = (value: number): number => Number(value.toFixed(3))
