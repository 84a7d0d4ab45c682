// Build record of a revision: a digest of its inputs and the version of the builder. An upgrade of the operator keeps a
// revision with unchanged inputs, even if the new builder's template differs; its owner can ask for a rebuild.
import { createHash } from 'node:crypto'
import type { TritonPool } from '../pool/triton-pool.ts'
import { canonical, type Json } from './json.ts'
import { listenAnnotation } from './platform.ts'

/**
 * Version of buildPodTemplate. Raise it when the template of an unchanged pool changes, and describe the change in
 * docs/operations/rollouts.md. build-record.test.ts detects a missing increase.
 */
export const builderVersion = 2

const builtAnnotation = 'matte.dev/built'

export type BuildRecord = {
  readonly builder: number
  readonly inputs: string
  readonly rebuild?: string
}

/**
 * Digest of the template's inputs except the builder: the spec without fields that do not affect pods, the pool's
 * identity, and the platform's settings (from fitToPlatform).
 *
 * Omit a new spec field while it has its default; otherwise every pool rolls out at the upgrade.
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
  // JSON by content, but an interface has no index signature.
  return createHash('sha256')
    .update(canonical(inputs as Json))
    .digest('hex')
    .slice(0, 16)
}

export function readBuildRecord(annotations: Readonly<Record<string, string>> = {}): BuildRecord | undefined {
  try {
    const { builder, inputs, rebuild } = JSON.parse(annotations[builtAnnotation] ?? '{}') as Partial<BuildRecord>
    if (typeof builder !== 'number' || typeof inputs !== 'string') return undefined
    return { builder, inputs, ...(typeof rebuild === 'string' && { rebuild }) }
  } catch {
    return undefined
  }
}

export const writeBuildRecord = ({ builder, inputs, rebuild }: BuildRecord): Record<string, string> => ({
  [builtAnnotation]: JSON.stringify({ builder, inputs, ...(rebuild !== undefined && { rebuild }) }),
})
