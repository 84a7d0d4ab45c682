import { expect, it } from 'vitest'
import type { DemandReading } from './demand-reader.ts'
import { countsByRevision } from './revision-counts.ts'

const at = (second: number): Date => new Date(Date.UTC(2026, 10, 21, 12, 0, second))
const counts = { revision: 'new', done: 60, failed: 0, timedOut: 0, serviceSeconds: 0.5 }
const reading = (second: number) => ({ at: at(second), demand: { perRevision: [counts] } }) as unknown as DemandReading
const pool = { status: { rollout: { since: '2026-11-21T12:00:10Z' } } } as never

it('takes the counts of the present step and none from before it', () => {
  expect(countsByRevision(pool, reading(10)).size).toBe(0)
  expect(countsByRevision(pool, reading(11)).get('new')).toEqual(counts)
  expect(countsByRevision(pool, undefined).size).toBe(0)
  expect(countsByRevision({}, reading(11)).size).toBe(0)
})
