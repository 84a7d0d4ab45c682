import { describe, expect, it } from 'vitest'
import { type PoolSpecInput, type TritonPool, withDefaults } from '../pool/triton-pool.ts'
import type { JsonObject } from './json.ts'
import { fitToPlatform } from './platform.ts'
import { findRefusedFields } from './pod-restrictions.ts'
import { buildPodTemplate, secretOf } from './pod-template.ts'

function poolOf(more: Partial<PoolSpecInput> = {}): TritonPool {
  const models = [{ name: 'u2netp', modelVersion: 'u2netp', source: { imagePath: '/models' } }]
  const spec = withDefaults({ models, ...more })
  return { apiVersion: 'matte.dev/v1alpha1', kind: 'TritonPool', metadata: { name: 'p' }, spec }
}

const securityOf = (pool: TritonPool) => buildPodTemplate(pool).spec.securityContext

const leaveUserIds = (pool: TritonPool): TritonPool => fitToPlatform(pool, { userIds: false, ipv6: false })

describe('a platform that assigns user ids', () => {
  it('gets pods without a user that are still restricted', () => {
    const pool = leaveUserIds(poolOf())
    expect(securityOf(pool)).toEqual({
      runAsNonRoot: true,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    })
    const allowed = { ownSecret: secretOf(pool.spec), serviceAccounts: [], priorityClasses: [] }
    expect(findRefusedFields(buildPodTemplate(pool) as unknown as JsonObject, allowed)).toEqual([])
  })

  it('keeps the podPatch, including ids', () => {
    const spec = { priorityClassName: 'high', securityContext: { runAsUser: 1234 } }
    const pool = leaveUserIds(poolOf({ podPatch: { spec } }))
    expect(buildPodTemplate(pool).spec.priorityClassName).toBe('high')
    expect(securityOf(pool)).toMatchObject({ runAsUser: 1234 })
    expect(securityOf(pool)).not.toHaveProperty('fsGroup')
  })

  it('keeps removals of the podPatch', () => {
    const podPatch = { spec: { topologySpreadConstraints: null } }
    expect(buildPodTemplate(leaveUserIds(poolOf({ podPatch }))).spec).not.toHaveProperty('topologySpreadConstraints')
  })
})

describe('a platform with IPv6', () => {
  const argumentsOf = (pool: TritonPool): unknown =>
    (buildPodTemplate(pool).spec.containers as unknown as readonly { args: string[] }[])[0]?.args

  it('makes Triton listen on it, in the syntax of each server', () => {
    const pool = fitToPlatform(poolOf(), { userIds: true, ipv6: true })
    const addresses = ['--http-address=ipv6:::', '--grpc-address=[::]', '--metrics-address=ipv6:::']
    expect(argumentsOf(pool)).toEqual(expect.arrayContaining(addresses))
    expect(securityOf(pool)).toMatchObject({ runAsUser: 1000 })
  })

  it('does not change pools unless it is set', () => {
    const pool = poolOf()
    expect(buildPodTemplate(fitToPlatform(pool, { userIds: true, ipv6: false }))).toEqual(buildPodTemplate(pool))
    expect(JSON.stringify(argumentsOf(pool))).not.toContain('address')
  })
})
