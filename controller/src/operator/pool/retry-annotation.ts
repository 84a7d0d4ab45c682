// The annotation matte.dev/retry: a time after a rollback, at which the rolled-back revision is tried again.
import type { IgnoredAnnotation } from './owner-requests.ts'
import type { RolloutStatus } from './pool-status.ts'

/** On a pool. */
export const retryAnnotation = 'matte.dev/retry'

/** RFC 3339 with a zone; `Date.parse` alone accepts much else. */
const form = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/

/** Longest value that status records. */
const charactersMax = 64

function parseTime(value: string): number | undefined {
  const ms = form.test(value) && value.length <= charactersMax ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

type Rollout = Pick<RolloutStatus, 'failed' | 'retried'> | undefined

/** Each value acts once, even a time in the future. */
export function isRetryAsked(value: string | undefined, rollout: Rollout): boolean {
  const { failed, retried } = rollout ?? {}
  const ms = value === undefined || value === retried ? undefined : parseTime(value)
  return ms !== undefined && failed !== undefined && ms > Date.parse(failed.time)
}

/** The value that status records: the last one that acted, or that was there before anything failed. */
export function retriedOf(value: string | undefined, rollout: Rollout): Pick<RolloutStatus, 'retried'> {
  const isRead = value !== undefined && parseTime(value) !== undefined
  const retried = isRead && (rollout?.failed === undefined || isRetryAsked(value, rollout)) ? value : rollout?.retried
  return retried === undefined ? {} : { retried }
}

/** Why the annotation has no effect; empty if it has one, or if there is nothing to try again. */
export function findBadRetry(value: string | undefined, rollout: Rollout): IgnoredAnnotation[] {
  if (value === undefined) return []
  const shown = value.slice(0, charactersMax)
  const ms = parseTime(value)
  if (ms === undefined) return ignore(`its value "${shown}" is not a time in RFC 3339, such as 2026-11-23T12:00:00Z`)
  const { failed, retried } = rollout ?? {}
  if (failed === undefined || value === retried || ms > Date.parse(failed.time)) return []
  return ignore(`its time ${shown} is not after the rollback at ${failed.time}`)
}

const ignore = (message: string): IgnoredAnnotation[] => [{ annotation: retryAnnotation, message }]
