import { expect, it } from 'vitest'
import { batchFields, buildTaskBody } from './event-fields.ts'

it.each([
  [
    { event: 'task.succeeded', taskId: 'a1', message: 'The cut-out is ready.' },
    '{"event":"task.succeeded","task_id":"a1","message":"The cut-out is ready."}',
  ],
  [
    { event: 'task.failed', taskId: 'a1', reason: 'INPUT_UNREADABLE', message: 'No "picture" – ü.' },
    '{"event":"task.failed","task_id":"a1","reason":"INPUT_UNREADABLE","message":"No \\"picture\\" – ü."}',
  ],
] as const)('writes %j as flat JSON with the event first', (outcome, body) => {
  expect(buildTaskBody(outcome)).toBe(body)
})

it('orders the fields of batch.completed as the interface does, and counts canceled tasks as failed', () => {
  expect(JSON.stringify(batchFields({ batchId: 'b1', totalCount: 5, successCount: 3 }))).toBe(
    '{"batch_job_id":"b1","total_count":5,"success_count":3,"failed_count":2,"message":"3 of 5 tasks succeeded."}',
  )
})
