import { failureReasons } from '@matte/core/task/failure'
import { eventTypes } from '@matte/core/task/history/list-task-events'
import { Type } from 'typebox'
import { named, nullable, oneOf } from '../schema.ts'

const payload = Type.Object(
  {
    run: Type.Integer({ description: '1, and one more with each retry.' }),
    attempt: Type.Optional(Type.Integer({ description: 'Of the run; where work had begun.' })),
    reason: Type.Optional(oneOf(failureReasons, { description: 'On `attempt_failed` and `failed`.' })),
    message: Type.Optional(Type.String({ description: 'Of the reason, for people.' })),
    duration_ms: Type.Optional(Type.Integer({ description: 'Processing time; on `succeeded`.' })),
    at: Type.String({ format: 'date-time' }),
  },
  { description: 'As far as it applies.' },
)

const fields = {
  id: Type.String({ description: 'Ascends over the history of the workspace.' }),
  event_type: oneOf(eventTypes),
  event_payload: payload,
}

const example = {
  id: '48210',
  event_type: 'succeeded',
  event_payload: { run: 1, attempt: 1, duration_ms: 812, at: '2026-11-21T09:30:01.204Z' },
}

/** The task event of the interface (D35). */
export const taskEventSchema = named('TaskEvent', fields, { examples: [example] })

/** The same in a stream of many tasks. */
export const taskChangeSchema = named(
  'TaskChange',
  { ...fields, taskId: Type.String({ format: 'uuid' }), batchId: nullable(Type.String({ format: 'uuid' })) },
  {
    description: 'The `data` of an event of the stream, as JSON.',
    examples: [{ ...example, taskId: '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1', batchId: null }],
  },
)

/** A link to a result and what lies behind it (D37). */
export const downloadSchema = named(
  'Download',
  {
    url: Type.String({ format: 'uri', description: 'Needs no credential; whoever has it can download the image.' }),
    expiresAt: Type.String({ format: 'date-time', description: 'Until when it works; ask again for a new one.' }),
    fileName: Type.String(),
    contentType: Type.String({ description: 'image/png, image/webp or image/jpeg.' }),
    size: Type.Integer({ description: 'Bytes.' }),
  },
  {
    examples: [
      {
        url: 'https://matte.example.com/matte/results/0d9f2f3c-7f5b.png?X-Amz-Signature=0f1e2d',
        expiresAt: '2026-11-28T09:30:05.000Z',
        fileName: '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1.png',
        contentType: 'image/png',
        size: 734_201,
      },
    ],
  },
)
