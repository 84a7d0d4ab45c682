import { describe, expect, it } from 'vitest'
import { type PoolSpecInput, type TritonPool, withDefaults } from '../pool/triton-pool.ts'
import type { JsonObject } from './merge-patch.ts'
import { buildPodTemplate, secretOf } from './pod-template.ts'
import { findRefusedFields } from './restricted/pod-restrictions.ts'
import { leaveUserIds } from './user-ids.ts'

function poolOf(more: Partial<PoolSpecInput> = {}): TritonPool {
  const models = [{ name: 'u2netp', modelVersion: 'u2netp', source: { imagePath: '/models' } }]
  const spec = withDefaults({ models, ...more })
  return { apiVersion: 'matte.dev/v1alpha1', kind: 'TritonPool', metadata: { name: 'p' }, spec }
}

const securityOf = (pool: TritonPool) => buildPodTemplate(pool).spec.securityContext

describe('leaveUserIds', () => {
  it('names no user, and stays restricted', () => {
    const pool = leaveUserIds(poolOf())
    expect(securityOf(pool)).toEqual({
      runAsNonRoot: true,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    })
    expect(findRefusedFields(buildPodTemplate(pool) as unknown as JsonObject, secretOf(pool.spec))).toEqual([])
  })

  it('keeps what the podPatch says, ids included', () => {
    const spec = { priorityClassName: 'high', securityContext: { runAsUser: 1234 } }
    const pool = leaveUserIds(poolOf({ podPatch: { spec } }))
    expect(buildPodTemplate(pool).spec.priorityClassName).toBe('high')
    expect(securityOf(pool)).toMatchObject({ runAsUser: 1234 })
    expect(securityOf(pool)).not.toHaveProperty('fsGroup')
  })

  it('keeps what the podPatch takes away', () => {
    const podPatch = { spec: { topologySpreadConstraints: null } }
    expect(buildPodTemplate(leaveUserIds(poolOf({ podPatch }))).spec).not.toHaveProperty('topologySpreadConstraints')
  })
})
