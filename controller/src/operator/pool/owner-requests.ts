// Annotations by which the owner of a pool steers its rollout (docs/operations/rollouts.md).
import type { RolloutStatus } from './pool-status.ts'

/** `true` holds the rollout where it is. */
const pauseAnnotation = 'matte.dev/pause'
/** The canary that is to take over now. */
const promoteAnnotation = 'matte.dev/promote'
/** Today's builder is to build the pods; a time in RFC 3339. */
const rebuildAnnotation = 'matte.dev/rebuild'

/** Requests and turns: input of a rollout beside its observations. */
export type Controls = {
  readonly isPaused: boolean
  /** Revision that its owner wants to take over now. */
  readonly promote: string | undefined
  /** Set while other rollouts go first: which, as the end of a sentence. */
  readonly turn?: string | undefined
}

/** Why a rollout does not go on; `message` is a whole sentence. */
export type Held = { readonly reason: 'RolloutPaused' | 'RolloutQueued'; readonly message: string }

export type IgnoredAnnotation = { readonly annotation: string; readonly message: string }

export type OwnerRequests = Pick<Controls, 'isPaused' | 'promote'> & {
  readonly rebuild: string | undefined
  /** Values without a meaning. */
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

/** A promotion of a revision that is neither tried nor serving: it came too late, or has a typing error. */
export function findStalePromotion(
  { promote }: Pick<OwnerRequests, 'promote'>,
  { stable, canary, failed }: Partial<RolloutStatus>,
): IgnoredAnnotation[] {
  if (promote === undefined || promote === stable || (promote === canary && failed?.revision !== canary)) return []
  const tried = canary === undefined ? 'no revision is being tried' : `the revision that is being tried is ${canary}`
  return [{ annotation: promoteAnnotation, message: `it names revision ${promote}, and ${tried}` }]
}
