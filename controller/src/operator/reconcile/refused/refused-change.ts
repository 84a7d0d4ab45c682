import type { KubeError } from '../../kube/client.ts'

export type Refusal = {
  /** Undefined: it belongs to the pool as a whole. */
  readonly revision: string | undefined
  readonly reason: string
  readonly message: string
  /** The step is held back until this time of the monotonic clock. */
  readonly untilMs: number
}

/** A refusal of anything but the creation of a Deployment. */
export type RefusedChange = Refusal & {
  /** The end of a sentence that begins with "Kubernetes refuses to". */
  readonly what: string
  /** Keeps pods from being created, or requests from reaching them. */
  readonly blocking: boolean
  /** It is pods that are not created. */
  readonly ofPods: boolean
  /** Kubernetes did not answer in time. The write may have taken effect. */
  readonly timedOut: boolean
}

/** An object whose update with a fencing token Kubernetes refuses, or does not answer in time. */
export type RefusedToken = {
  readonly pool: string
  /** Kind and name. */
  readonly object: string
  /** Undefined: the object belongs to the pool as a whole. */
  readonly revision: string | undefined
  readonly error: KubeError
  /** Nothing fences the object, so nothing of its pool is changed. */
  readonly closesPool: boolean
}

type Refused = {
  readonly refusedChanges: ReadonlyMap<string, RefusedChange>
  readonly refusedTokens: readonly RefusedToken[]
}

/** Changes that Kubernetes refuses: those of steps, and fencing tokens of objects that no step would change now. */
export function refusedChangesOf({ refusedChanges, refusedTokens }: Refused): RefusedChange[] {
  const changes = [...refusedChanges.values()]
  const tokens = refusedTokens.map(({ object, revision, error }): RefusedChange => {
    const { reason, message } = error
    const harmless = { untilMs: 0, blocking: false, ofPods: false }
    return { ...harmless, revision, reason, message, what: `update ${object}`, timedOut: error.isTimeout }
  })
  return [...changes, ...tokens.filter((token) => !changes.some(({ what }) => what === token.what))]
}
