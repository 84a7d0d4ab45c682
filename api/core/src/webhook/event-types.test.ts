import { expect, it } from 'vitest'
import { collapseEventTypes, eventsOf, eventTypes, expandEventTypes, patternOf } from './event-types.ts'
import { eventPatterns } from './events.ts'

it('there is a pattern for each first word of an event', () => {
  expect(eventPatterns).toEqual([
    ...['task.*', 'batch.*', 'credits.*', 'payment.*', 'refund.*', 'subscription.*', 'referral.*', 'team.*'],
    'security.*',
  ])
  expect(eventTypes).toHaveLength(31)
})

it.each([
  ['task.failed', 'task.*'],
  ['welcome', 'welcome'],
])('the pattern of %s is %s', (event, pattern) => {
  expect(patternOf(event)).toBe(pattern)
})

it('a pattern is stored with the events that it covers, and shown alone', () => {
  const stored = expandEventTypes(['welcome', 'task.failed', 'task.*', 'task.*'])
  expect(stored).toEqual(['welcome', 'task.failed', 'task.*', 'task.succeeded', 'task.retention_cleanup'])
  expect(collapseEventTypes(stored)).toEqual(['welcome', 'task.*'])
})

it('names without a pattern are stored and shown as they are', () => {
  expect(expandEventTypes(['task.failed', 'welcome', 'task.failed'])).toEqual(['task.failed', 'welcome'])
  expect(collapseEventTypes(['task.failed', 'welcome'])).toEqual(['task.failed', 'welcome'])
})

it('types select events by name and by pattern', () => {
  expect(eventsOf(['welcome', 'refund.*', 'payment.*'])).toEqual([
    ...[
      'payment.succeeded',
      'payment.failed',
      'payment.disputed',
      'payment.dispute_closed',
      'refund.succeeded',
      'welcome',
    ],
  ])
})
