import { describe, expect, it } from 'vitest'
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
import type { Lease } from './objects.ts'

const us = { name: 'leader', identity: 'us', leaseDurationMs: 15_000, renewDeadlineMs: 10_000 }
const wallMs = Date.UTC(2026, 0, 1)
const time = '2026-01-01T00:00:00.000000Z'

/** A later version of the Lease. */
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
    ['it holds the Lease from before a restart', seen(leaseOf('us', 4), 0), leaseOf('us', 4), 0, 5],
    ['the other holder’s Lease was unchanged for its duration', seen(theirs, 100), theirs, 15_100, 5],
    ['the other holder’s Lease was unchanged for its longer duration', seen(patient, 0), patient, 60_000, 5],
    ['it has seen a higher term', afterRead(following(9), at(0, theirs)), theirs, 15_000, 10],
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
    ['was not unchanged for its duration', seen(theirs, 100), theirs, 15_099],
    ['names a longer duration', seen(patient, 0), patient, 59_999],
    ['it sees for the first time', following(), theirs, 1_000_000],
  ])('does not acquire another holder’s Lease that %s', (_what, state, lease, nowMs) => {
    expect(acquiredLease(state, at(nowMs, lease), us)).toBeUndefined()
  })

  it('counts from the first read of a version, and remembers the highest term', () => {
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

  it('leads until the deadline, counted from before its write', () => {
    expect(leader).toMatchObject({ state: 'leading', term: 4, untilMs: 11_000 })
    expect([1_000, 10_999, 11_000].map((nowMs) => isLeading(leader, nowMs))).toEqual([true, true, false])
    expect(isLeading(following(4), 1_000)).toBe(false)
  })

  it('renews the version that it wrote, with the same term and acquireTime', () => {
    expect(renewedLease(leader, us, wallMs)).toMatchObject({
      metadata: { resourceVersion: '1' },
      spec: { holderIdentity: 'us', leaseTransitions: 4, renewTime: time, acquireTime: 'then' },
    })
  })

  it('keeps its term and removes the holder on release', () => {
    expect(releasedLease(leader, us, wallMs).spec).toMatchObject({ holderIdentity: '', leaseTransitions: 4 })
  })

  it('continues after a conflict if it still holds the Lease', () => {
    const touched = at8(leaseOf('us', 4))
    expect(afterConflict(leader, at(2_000, touched), us)).toEqual({ ...leader, lease: touched })
  })

  it.each([
    ['is gone', undefined, { term: 4, seen: undefined }],
    ['is another’s', at8(leaseOf('them', 5)), { term: 5, seen: { resourceVersion: '8', atMs: 2_000 } }],
    [
      'was recreated from a copy',
      madeAgain(at8(leaseOf('us', 4))),
      { term: 4, seen: { resourceVersion: '8', atMs: 2_000 } },
    ],
    ['has its name in another term', at8(leaseOf('us', 5)), { term: 5, seen: { resourceVersion: '8', atMs: 2_000 } }],
  ])('stops leading after a conflict if the Lease %s', (_what, lease, rest) => {
    expect(afterConflict(leader, at(2_000, lease), us)).toEqual({ state: 'following', ...rest })
  })
})
