import { describe, expect, it } from 'vitest'
import type { Line } from '../client/lines.ts'
import { countPhases, findErrors } from './phases.ts'
import { findDifferences, findLossesAndRepeats } from './tasks.ts'

const whole = (key: string, id: string): Line[] => [
  { type: 'begun', key, kind: 'small' },
  { type: 'accepted', key, id },
  { type: 'ended', id, status: 'succeeded', reason: null },
  { type: 'result', id, problem: null },
  { type: 'webhook', delivery: `of ${id}`, task: id, event: 'task.succeeded', signed: true },
]

const failed: readonly Line[] = [
  { type: 'begun', key: 'f', kind: 'damaged' },
  { type: 'accepted', key: 'f', id: '9' },
  { type: 'ended', id: '9', status: 'failed', reason: 'INPUT_UNREADABLE' },
  { type: 'webhook', delivery: 'of 9', task: '9', event: 'task.failed', signed: true },
]

const without = (type: Line['type']): Line[] => whole('a', '1').filter((line) => line.type !== type)

describe('findLossesAndRepeats', () => {
  it('accepts ended tasks, and webhooks repeated under the same id', () => {
    const again: Line = { type: 'webhook', delivery: 'of 1', task: '1', event: 'task.succeeded', signed: true }
    const declined: Line[] = [
      { type: 'begun', key: 'd', kind: 'foreign' },
      { type: 'declined', key: 'd' },
    ]
    expect(findLossesAndRepeats([...whole('a', '1'), again, ...failed, ...declined])).toEqual([])
  })

  it('accepts a webhook that arrives before the response to the creation', () => {
    expect(findLossesAndRepeats(whole('a', '1').reverse())).toEqual([])
  })

  it.each<[string, readonly Line[]]>([
    ['ended as "" instead of "succeeded"', without('ended')],
    ['has no result', without('result')],
    ['had the webhooks ""', without('webhook')],
    ['was neither accepted nor declined', [{ type: 'begun', key: 'a', kind: 'small' }]],
    ['was given up: 500', [...whole('a', '1'), { type: 'gaveUp', key: 'a', error: '500' }]],
    ['became 2 tasks', [...whole('a', '1'), ...whole('a', '2')]],
    ['is that of 2 keys', [...whole('a', '1'), ...whole('b', '1')]],
    ['result of task 1: ends early', [...whole('a', '1'), { type: 'result', id: '1', problem: 'ends early' }]],
    [
      '"succeeded,failed INTERNAL"',
      [...whole('a', '1'), { type: 'ended', id: '1', status: 'failed', reason: 'INTERNAL' }],
    ],
    [
      'had the webhooks "task.succeeded,task.succeeded"',
      [...whole('a', '1'), { type: 'webhook', delivery: 'other', task: '1', event: 'task.succeeded', signed: true }],
    ],
    [
      'has a wrong signature',
      [...whole('a', '1'), { type: 'webhook', delivery: 'of 1', task: '1', event: 'task.succeeded', signed: false }],
    ],
    ['was to be refused', whole('a', '1').map((line) => (line.type === 'begun' ? { ...line, kind: 'foreign' } : line))],
    [
      'task 5 was never accepted',
      [...whole('a', '1'), { type: 'webhook', delivery: 'of 5', task: '5', event: 'task.succeeded', signed: true }],
    ],
  ])('finds that one %s', (sentence, lines) => {
    expect(findLossesAndRepeats(lines).join('\n')).toContain(sentence)
  })
})

describe('findErrors', () => {
  const outage: Line = {
    type: 'refused',
    op: 'create',
    status: 503,
    code: 'TASK_STORAGE_UNAVAILABLE',
    retryAfter: true,
  }
  const cases: [string, Line, object, number][] = [
    ['503 where the store may be away', outage, { outage: true }, 0],
    ['503 otherwise', outage, {}, 1],
    ['503 without Retry-After', { ...outage, retryAfter: false }, { outage: true }, 1],
    ['500 without the database', { ...outage, status: 500, code: 'SYSTEM_INTERNAL_ERROR' }, { outage: true }, 0],
    ['500 of another code', { ...outage, status: 500, code: 'OTHER' }, { outage: true }, 1],
    ['429', { ...outage, status: 429, code: 'RATE_LIMIT_EXCEEDED' }, {}, 0],
    [
      'the refusal of an image that is none',
      { ...outage, status: 400, code: 'TASK_FORMAT_NOT_SUPPORTED', retryAfter: false },
      {},
      0,
    ],
    ['another refusal', { ...outage, status: 400, code: 'INVALID_PARAMS', retryAfter: false }, {}, 1],
    ['a broken connection', { type: 'broken', op: 'read', error: 'socket hang up' }, { outage: true }, 1],
    [
      'a broken connection of a killed pod',
      { type: 'broken', op: 'read', error: 'socket hang up' },
      { broken: true },
      0,
    ],
    ['an upload that was cut', { type: 'slow', began: 'before', cut: 'roll' }, {}, 1],
    ['an upload that was not', { type: 'slow', began: 'roll', cut: null }, {}, 0],
  ]
  it.each(cases)('%s', (_, line, tolerance, found) => {
    const lines: Line[] = [{ type: 'phase', name: 'roll', at: 1 }, line, { type: 'phase', name: 'end', at: 2 }]
    expect(findErrors(lines, (phase) => (phase === 'roll' ? tolerance : {}))).toHaveLength(found)
  })
})

describe('findDifferences', () => {
  const usage = { totalTasks: 2, succeededTasks: 1, failedTasks: 1, creditsConsumed: 1 }
  const lines = [...whole('a', '1'), ...failed]

  it('accepts equal counts of service and client', () => {
    expect(findDifferences([...lines, { type: 'totals', listed: ['1', '9'], usage }])).toEqual([])
  })

  it.each<[string, Extract<Line, { type: 'totals' }>]>([
    ['task 2 is listed', { type: 'totals', listed: ['1', '9', '2'], usage }],
    ['task 9 is not listed', { type: 'totals', listed: ['1'], usage }],
    [
      'credits: the service has 2, the client 1',
      { type: 'totals', listed: ['1', '9'], usage: { ...usage, creditsConsumed: 2 } },
    ],
    ['failed: the service has 0', { type: 'totals', listed: ['1', '9'], usage: { ...usage, failedTasks: 0 } }],
  ])('finds that %s', (sentence, totals) => {
    expect(findDifferences([...lines, totals]).join('\n')).toContain(sentence)
  })

  it('reports missing totals', () => {
    expect(findDifferences(lines)).toEqual(['the client did not come to its end'])
  })
})

it('counts events by phase', () => {
  const lines: Line[] = [
    { type: 'phase', name: 'upgrade', at: 5 },
    ...whole('a', '1'),
    { type: 'calls', answered: 7 },
    { type: 'phase', name: 'end', at: 6 },
  ]
  const [, upgrade] = countPhases(lines)
  expect(upgrade).toMatchObject({ name: 'upgrade', answered: 7, accepted: 1, ended: 1, webhooks: 1, broken: [] })
})
