// Record of a revision: a digest of the inputs that its template was built from, and the version of the builder. An
// upgrade of the operator keeps a revision whose inputs are unchanged, even if today's builder would build another
// template: pods move when their owner asks.
import { createHash } from 'node:crypto'
import type { TritonPool } from '../pool/triton-pool.ts'
import type { Json } from './merge-patch.ts'
import { listenAnnotation } from './platform.ts'
import { canonical } from './revision.ts'

/**
 * Version of buildPodTemplate. Raise it with every change of what that function returns for an unchanged pool, and name
 * the change in docs/operations/rollouts.md. built.test.ts notices a change without a new version.
 */
export const builderVersion = 2

/** On Deployments: what the revision was built from, as JSON. */
const builtAnnotation = 'matte.dev/built'

export type Built = {
  /** The builder's version; 1 for a revision from before builders had one. */
  readonly builder: number
  /** Digest of what the template was built from. */
  readonly inputs: string
  /** Value of the annotation matte.dev/rebuild that this revision satisfies. */
  readonly rebuild?: string
}

/**
 * Digest of all that the template is built from but the builder: the spec without the fields that make no pod, the
 * pool's identity, and the platform's settings (fitToPlatform has put them into the pool).
 *
 * A field that is added to spec with a default must be left out here while it has that default, or each pool would
 * roll out at the upgrade that adds it.
 */
export function inputsOf({ metadata, spec }: TritonPool): string {
  const { default: _, replicas: __, scaling: ___, rollout: ____, slotsPerPod: _____, models, ...ofPods } = spec
  const inputs: unknown = {
    ...ofPods,
    models: models.map(({ modelVersion: _, default: __, licence: ___, ...ofPod }) => ofPod),
    name: metadata.name,
    uid: metadata.uid,
    listen: metadata.annotations?.[listenAnnotation],
  }
  // It is JSON, but an interface has no index signature to say so.
  return createHash('sha256')
    .update(canonical(inputs as Json))
    .digest('hex')
    .slice(0, 16)
}

/** From a Deployment's annotations; undefined when it has none, or another client has overwritten it. */
export function readBuilt(annotations: Readonly<Record<string, string>> = {}): Built | undefined {
  try {
    const { builder, inputs, rebuild } = JSON.parse(annotations[builtAnnotation] ?? '{}') as Partial<Built>
    if (typeof builder !== 'number' || typeof inputs !== 'string') return undefined
    return { builder, inputs, ...(typeof rebuild === 'string' && { rebuild }) }
  } catch {
    return undefined
  }
}

/** As an annotation. */
export const writeBuilt = ({ builder, inputs, rebuild }: Built): Record<string, string> => ({
  [builtAnnotation]: JSON.stringify({ builder, inputs, ...(rebuild !== undefined && { rebuild }) }),
})
