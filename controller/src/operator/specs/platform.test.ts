import { describe, expect, it } from 'vitest'
import { type PoolSpecInput, type TritonPool, withDefaults } from '../pool/triton-pool.ts'
import type { JsonObject } from './merge-patch.ts'
import { fitToPlatform } from './platform.ts'
import { buildPodTemplate, secretOf } from './pod-template.ts'
import { findRefusedFields } from './restricted/pod-restrictions.ts'

function poolOf(more: Partial<PoolSpecInput> = {}): TritonPool {
  const models = [{ name: 'u2netp', modelVersion: 'u2netp', source: { imagePath: '/models' } }]
  const spec = withDefaults({ models, ...more })
  return { apiVersion: 'matte.dev/v1alpha1', kind: 'TritonPool', metadata: { name: 'p' }, spec }
}

const securityOf = (pool: TritonPool) => buildPodTemplate(pool).spec.securityContext

const leaveUserIds = (pool: TritonPool): TritonPool => fitToPlatform(pool, { userIds: false, ipv6: false })

describe('a platform that gives out user ids', () => {
  it('names no user, and stays restricted', () => {
    const pool = leaveUserIds(poolOf())
    expect(securityOf(pool)).toEqual({
      runAsNonRoot: true,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    })
    const allowed = { ownSecret: secretOf(pool.spec), serviceAccounts: [] }
    expect(findRefusedFields(buildPodTemplate(pool) as unknown as JsonObject, allowed)).toEqual([])
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

describe('a platform with IPv6', () => {
  const argumentsOf = (pool: TritonPool): unknown =>
    (buildPodTemplate(pool).spec.containers as unknown as readonly { args: string[] }[])[0]?.args

  it('has Triton listen on it, in the words of each of its servers', () => {
    const pool = fitToPlatform(poolOf(), { userIds: true, ipv6: true })
    const addresses = ['--http-address=ipv6:::', '--grpc-address=[::]', '--metrics-address=ipv6:::']
    expect(argumentsOf(pool)).toEqual(expect.arrayContaining(addresses))
    expect(securityOf(pool)).toMatchObject({ runAsUser: 1000 })
  })

  it('is asked for: a pool is the same without it', () => {
    const pool = poolOf()
    expect(buildPodTemplate(fitToPlatform(pool, { userIds: true, ipv6: false }))).toEqual(buildPodTemplate(pool))
    expect(JSON.stringify(argumentsOf(pool))).not.toContain('address')
  })
})
