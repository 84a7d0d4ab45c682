// Annotations that control a pool's rollout (docs/operations/rollouts.md).
import type { RolloutStatus } from './pool-status.ts'

/** `true` pauses the rollout. */
const pauseAnnotation = 'matte.dev/pause'
/** The canary to promote now. */
const promoteAnnotation = 'matte.dev/promote'
/** Requests a build by the newest builder; a time in RFC 3339. */
const rebuildAnnotation = 'matte.dev/rebuild'

export type Controls = {
  readonly isPaused: boolean
  readonly promote: string | undefined
  /** Other rollouts that go first, as the end of a sentence; set while waiting for them. */
  readonly turn?: string | undefined
}

/** Why a rollout does not proceed; `message` is a complete sentence. */
export type Held = { readonly reason: 'RolloutPaused' | 'RolloutQueued'; readonly message: string }

export type IgnoredAnnotation = { readonly annotation: string; readonly message: string }

export type OwnerRequests = Pick<Controls, 'isPaused' | 'promote'> & {
  readonly rebuild: string | undefined
  readonly ignored: readonly IgnoredAnnotation[]
}

export function readRequests(annotations: Readonly<Record<string, string>> = {}): OwnerRequests {
  const ignored: IgnoredAnnotation[] = []
  const read = (annotation: string, isRight: (value: string) => boolean, right: string): string | undefined => {
    const value = annotations[annotation]
    if (value === undefined || isRight(value)) return value
    ignored.push({ annotation, message: `its value "${value.slice(0, 64)}" is not ${right}` })
    return undefined
  }
  return {
    isPaused: read(pauseAnnotation, (value) => value === 'true' || value === 'false', '"true" or "false"') === 'true',
    promote: read(promoteAnnotation, (value) => /^[0-9a-f]{8}$/.test(value), 'a revision of 8 hex digits'),
    rebuild: read(rebuildAnnotation, isTime, 'a time in RFC 3339, such as 2026-11-23T12:00:00Z'),
    ignored,
  }
}

const isTime = (value: string): boolean =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.test(value) && !Number.isNaN(Date.parse(value))

/** Reports a promotion of a revision that is neither tried nor serving: late or mistyped. */
export function findStalePromotion(
  { promote }: Pick<OwnerRequests, 'promote'>,
  { stable, canary, failed }: Partial<RolloutStatus>,
): IgnoredAnnotation[] {
  if (promote === undefined || promote === stable || (promote === canary && failed?.revision !== canary)) return []
  const tried = canary === undefined ? 'no revision is being tried' : `the revision that is being tried is ${canary}`
  return [{ annotation: promoteAnnotation, message: `it names revision ${promote}, and ${tried}` }]
}

export const retryAnnotation = 'matte.dev/retry'

const form = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/

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

/** The value to record in status: the last one that acted, or that was present before a failure. */
export function retriedOf(value: string | undefined, rollout: Rollout): Pick<RolloutStatus, 'retried'> {
  const isRead = value !== undefined && parseTime(value) !== undefined
  const retried = isRead && (rollout?.failed === undefined || isRetryAsked(value, rollout)) ? value : rollout?.retried
  return retried === undefined ? {} : { retried }
}

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
