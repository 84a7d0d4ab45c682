import { expect, test } from 'vitest'
import { targetOf } from './target.ts'

test('a notification about a record leads to the record', () => {
  expect(targetOf({ type: 'task.failed', data: { taskId: 't1' } })).toEqual({
    to: '/tasks/$taskId',
    params: { taskId: 't1' },
  })
})

test('other notifications lead to the page of their subject', () => {
  expect(targetOf({ type: 'task.retention_cleanup', data: {} })?.to).toBe('/gallery')
  expect(targetOf({ type: 'security.mfa_enabled', data: {} })).toEqual({ to: '/account', search: { tab: 'security' } })
  expect(targetOf({ type: 'welcome', data: {} })).toBeUndefined()
})
