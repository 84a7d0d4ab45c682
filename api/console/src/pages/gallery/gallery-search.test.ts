import type { Task } from 'matte-client'
import { expect, it } from 'vitest'
import { matches, parseSearch, toQuery } from './gallery-search.ts'

it('takes the valid filters of an address and drops the others', () => {
  const given = {
    status: 'failed',
    from: '2026-11-01',
    to: '2026-13-45',
    batch: 'a b',
    model: 'service-v2',
    page: 2,
    check: 'no',
  }
  expect(parseSearch(given)).toEqual({ status: 'failed', from: '2026-11-01', model: 'service-v2' })
  expect(parseSearch({ status: 'lost' })).toEqual({})
  expect(parseSearch({ check: true })).toEqual({ check: true })
})

it('asks the service for what it can filter', () => {
  expect(toQuery({ status: 'failed', to: '2026-11-02', model: 'x' })).toEqual({
    status: 'failed',
    endDate: '2026-11-02',
  })
  expect(toQuery({ check: true })).toEqual({ maxConfidence: 0.89 })
})

it('keeps tasks that match every filter', () => {
  const task = { status: 'failed', createdAt: '2026-11-02T23:59:59.000Z', batchId: null, modelVersion: 'm' } as Task
  expect(matches(task, {})).toBe(true)
  expect(matches(task, { status: 'failed', from: '2026-11-02', to: '2026-11-02', model: 'm' })).toBe(true)
  expect(matches(task, { status: 'queued' })).toBe(false)
  expect(matches(task, { to: '2026-11-01' })).toBe(false)
  expect(matches(task, { batch: 'b' })).toBe(false)
  expect(matches(task, { check: true })).toBe(false)
  expect([0, 0.89, 0.9, 1].map((confidence) => matches({ ...task, confidence }, { check: true }))).toEqual([
    ...[true, true, false, false],
  ])
})
