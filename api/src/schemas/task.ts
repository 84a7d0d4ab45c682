import { failureReasons } from '@matte/core/task/failure'
import { taskStatuses } from '@matte/core/task/task'
import { Type } from 'typebox'
import { named, nullable, oneOf } from './schema.ts'

const time = () => Type.String({ format: 'date-time' })

const foreground = nullable(
  Type.Object(
    { top: Type.Integer(), left: Type.Integer(), width: Type.Integer(), height: Type.Integer() },
    { description: 'Smallest box around what was kept, in pixels of the result; null when nothing was found.' },
  ),
)

const failure = nullable(
  Type.Object(
    {
      reason: oneOf(failureReasons),
      message: Type.String(),
      retryable: Type.Boolean({ description: 'Advice: whether a retry may end better.' }),
    },
    { description: 'Only on failed tasks.' },
  ),
)

/** The Task of the interface with the further fields of D31. */
export const taskSchema = named(
  'Task',
  {
    id: Type.String({ format: 'uuid' }),
    status: oneOf(taskStatuses),
    modelVersion: Type.String(),
    sourceUrl: Type.String({ description: 'Object key of the input.' }),
    resultUrl: nullable(
      Type.String({
        format: 'uri',
        description: 'Valid for 7 days from this answer; read the task again for a new one.',
      }),
    ),
    creditCost: Type.Optional(Type.Integer({ description: 'In the answers of creation and retry only.' })),
    durationMs: Type.Optional(Type.Integer({ description: 'Processing time; on succeeded tasks only.' })),
    createdAt: time(),
    completedAt: nullable(time()),
    batchId: nullable(Type.String({ format: 'uuid' })),
    callbackUrl: nullable(Type.String({ description: 'Gets task.succeeded and task.failed.' })),
    failure,
    width: nullable(Type.Integer({ description: 'Pixels of the result.' })),
    height: nullable(Type.Integer()),
    resultFormat: nullable(Type.String({ description: 'png, webp or jpeg.' })),
    retryCount: Type.Integer(),
    foreground,
  },
  {
    examples: [
      {
        id: '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1',
        status: 'queued',
        modelVersion: 'service-v2',
        sourceUrl: 'private-uploads/2026/11/9b2d7a54-3a0f-4a86-8d0e-5b1b8f6e2f11-cat.jpg',
        resultUrl: null,
        creditCost: 1,
        createdAt: '2026-11-21T09:30:00.000Z',
        completedAt: null,
        batchId: null,
        callbackUrl: null,
        failure: null,
        width: null,
        height: null,
        resultFormat: null,
        retryCount: 0,
        foreground: null,
      },
    ],
  },
)
