import { expect, it } from 'vitest'
import { buildTaskBody } from './payload.ts'

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
