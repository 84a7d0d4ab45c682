import { expect, it } from 'vitest'
import { countsByRevision, type DemandReading } from './demand-reader.ts'

const counts = { revision: 'new', done: 60, failed: 0, timedOut: 0, serviceSeconds: 0.5 }
const reading = (atMs: number) => ({ atMs, demand: { perRevision: [counts] } }) as unknown as DemandReading
const pool = { status: { rollout: { since: '2026-11-21T12:00:10Z' } } } as never
/** The step is 60 s old. */
const at = { elapsed: () => 60, nowMs: 100_000 }

it('counts only requests of the present step', () => {
  expect(countsByRevision(pool, reading(40_000), at).size).toBe(0)
  expect(countsByRevision(pool, reading(40_999), at).size).toBe(0)
  expect(countsByRevision(pool, reading(41_000), at).get('new')).toEqual(counts)
  expect(countsByRevision(pool, undefined, at).size).toBe(0)
  expect(countsByRevision({}, reading(41_000), at).size).toBe(0)
})
