import { describe, expect, it } from 'vitest'
import type { Lease } from '../objects.ts'
import {
  acquiredLease,
  afterConflict,
  afterRead,
  afterWrite,
  following,
  isLeading,
  releasedLease,
  renewedLease,
} from './lease-state.ts'

const us = { name: 'leader', identity: 'us', leaseDurationMs: 15_000, renewDeadlineMs: 10_000 }
const wallMs = Date.UTC(2026, 0, 1)
const time = '2026-01-01T00:00:00.000000Z'

/** A later version of it. */
const at8 = (lease: Lease): Lease => ({ ...lease, metadata: { ...lease.metadata, resourceVersion: '8' } })
const madeAgain = (lease: Lease): Lease => ({ ...lease, metadata: { ...lease.metadata, uid: 'another' } })
const leaseOf = (holderIdentity: string, leaseTransitions: number, rest = {}): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'leader', uid: 'u', resourceVersion: '1' },
  spec: { holderIdentity, leaseTransitions, ...rest },
})
const at = (monotonicMs: number, lease: Lease | undefined) => ({ lease, monotonicMs, wallMs })

describe('a candidate', () => {
  const seen = (lease: Lease, atMs: number) => afterRead(following(), at(atMs, lease))
  const theirs = leaseOf('them', 4)
  const patient = leaseOf('them', 4, { leaseDurationSeconds: 60 })

  it.each([
    ['there is none', following(2), undefined, 0, 3],
    ['its holder released it', seen(leaseOf('', 4), 0), leaseOf('', 4), 0, 5],
    ['it is its own from before', seen(leaseOf('us', 4), 0), leaseOf('us', 4), 0, 5],
    ['another’s was unchanged for its duration', seen(theirs, 100), theirs, 15_100, 5],
    ['another’s was unchanged for the longer duration that it names', seen(patient, 0), patient, 60_000, 5],
    ['it has seen a greater term', afterRead(following(9), at(0, theirs)), theirs, 15_000, 10],
  ])('acquires the lease in the next term when %s', (_when, state, lease, nowMs, term) => {
    expect(acquiredLease(state, at(nowMs, lease), us)).toMatchObject({
      kind: 'Lease',
      metadata: { name: 'leader', ...(lease && { resourceVersion: '1' }) },
      spec: {
        holderIdentity: 'us',
        leaseTransitions: term,
        leaseDurationSeconds: 15,
        renewTime: time,
        acquireTime: time,
      },
    })
  })

  it.each([
    ['it has not seen unchanged for the duration', seen(theirs, 100), theirs, 15_099],
    ['names a longer duration', seen(patient, 0), patient, 59_999],
    ['it has never seen before', following(), theirs, 1_000_000],
  ])('leaves alone another’s lease that %s', (_what, state, lease, nowMs) => {
    expect(acquiredLease(state, at(nowMs, lease), us)).toBeUndefined()
  })

  it('counts from its first sight of a version, and remembers the greatest term', () => {
    const first = afterRead(following(), at(100, leaseOf('them', 4)))
    expect(first).toEqual({ state: 'following', term: 4, seen: { resourceVersion: '1', atMs: 100 } })
    expect(afterRead(first, at(200, leaseOf('them', 4)))).toEqual(first)
    const renewed = afterRead(first, at(300, at8(leaseOf('them', 3))))
    expect(renewed).toEqual({ state: 'following', term: 4, seen: { resourceVersion: '8', atMs: 300 } })
    expect(afterRead(renewed, at(400, undefined))).toEqual(renewed)
  })
})

describe('a leader', () => {
  const leader = afterWrite(leaseOf('us', 4, { acquireTime: 'then' }), 1_000, us)

  it('leads from before its write until the deadline', () => {
    expect(leader).toMatchObject({ state: 'leading', term: 4, untilMs: 11_000 })
    expect([1_000, 10_999, 11_000].map((nowMs) => isLeading(leader, nowMs))).toEqual([true, true, false])
    expect(isLeading(following(4), 1_000)).toBe(false)
  })

  it('renews in its term, on the version that it wrote, and keeps the time of its beginning', () => {
    expect(renewedLease(leader, us, wallMs)).toMatchObject({
      metadata: { resourceVersion: '1' },
      spec: { holderIdentity: 'us', leaseTransitions: 4, renewTime: time, acquireTime: 'then' },
    })
  })

  it('leaves its term and no holder behind when it releases', () => {
    expect(releasedLease(leader, us, wallMs).spec).toMatchObject({ holderIdentity: '', leaseTransitions: 4 })
  })

  it('goes on after a conflict with a write that leaves the lease its own', () => {
    const touched = at8(leaseOf('us', 4))
    expect(afterConflict(leader, at(2_000, touched), us)).toEqual({ ...leader, lease: touched })
  })

  it.each([
    ['is gone', undefined, { term: 4, seen: undefined }],
    ['is another’s', at8(leaseOf('them', 5)), { term: 5, seen: { resourceVersion: '8', atMs: 2_000 } }],
    [
      'was made again from a copy',
      madeAgain(at8(leaseOf('us', 4))),
      { term: 4, seen: { resourceVersion: '8', atMs: 2_000 } },
    ],
    ['is its own in another term', at8(leaseOf('us', 5)), { term: 5, seen: { resourceVersion: '8', atMs: 2_000 } }],
  ])('follows after a conflict when the lease %s', (_what, lease, rest) => {
    expect(afterConflict(leader, at(2_000, lease), us)).toEqual({ state: 'following', ...rest })
  })
})
