import { attemptStages } from '@matte/core/task/attempt-work'
import { failureReasons } from '@matte/core/task/failure'
import { eventTypes, type TaskEvent } from '@matte/core/task/list-task-events'
import type { TaskChange } from '@matte/core/task/read-changes'
import { type Static, Type } from 'typebox'
import { named, nullable, oneOf, refer, time, uuid } from '../schema.ts'

const payloadExample = {
  ...{ run: 1, attempt: 1, duration_ms: 812, confidence: 0.97 },
  ...{ pod: 'general-7d9c5b6f4-x2x7q', revision: '7d9c5b6f4', pool: 'general', model: 'u2netp' },
  stages_ms: { fetch: 21, decode: 38, prepare: 9, wait: 4, infer: 402, refine: 211, encode: 83, store: 29 },
  at: '2026-11-21T09:30:01.204Z',
}

export const taskEventPayloadSchema = named(
  'TaskEventPayload',
  {
    run: Type.Integer({ description: '1 for the first run; each retry adds 1.' }),
    attempt: Type.Optional(Type.Integer({ description: 'Attempt of the run; absent before processing starts.' })),
    reason: Type.Optional(oneOf(failureReasons, { description: 'On `attempt_failed` and `failed`.' })),
    message: Type.Optional(Type.String({ description: 'Human-readable reason.' })),
    duration_ms: Type.Optional(Type.Integer({ description: 'Processing time; on `succeeded`.' })),
    confidence: Type.Optional(
      Type.Number({ minimum: 0, maximum: 1, description: '`confidence` of the task; on `succeeded`.' }),
    ),
    charged: Type.Optional(
      Type.Literal(false, {
        description: 'The credit was released: a door that charges subjects only found none. On `succeeded`.',
      }),
    ),
    pod: Type.Optional(
      Type.String({
        description: 'Pod that served the attempt; on `attempt_failed`, `failed` and `succeeded`, like the next four.',
      }),
    ),
    revision: Type.Optional(Type.String({ description: 'Revision of the pool that the pod belongs to.' })),
    pool: Type.Optional(Type.String({ description: 'Name of the TritonPool, or of an entry of `MODELS_STATIC`.' })),
    model: Type.Optional(Type.String({ description: 'Model in Triton that made the mask.' })),
    stages_ms: Type.Optional(
      Type.Object(Object.fromEntries(attemptStages.map((stage) => [stage, Type.Optional(Type.Integer())])), {
        description: 'Milliseconds of each stage that began. `wait`: no free memory or slot of a pod.',
      }),
    ),
    at: time(),
  },
  payloadExample,
  { description: 'Only the fields that apply.' },
)

const fields = {
  id: Type.String({ description: 'Ascending within the workspace.' }),
  event_type: oneOf(eventTypes),
  event_payload: refer(taskEventPayloadSchema),
}

const example = {
  id: '48210',
  event_type: 'succeeded',
  event_payload: payloadExample,
}

export const taskEventSchema = named('TaskEvent', fields, example)

export const taskChangeSchema = named(
  'TaskChange',
  { ...fields, taskId: uuid(), batchId: nullable(uuid()) },
  {
    ...{ id: '48207', event_type: 'queued', event_payload: { run: 1, at: '2026-11-21T09:30:00.310Z' } },
    taskId: '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1',
    batchId: null,
  },
  { description: 'The `data` of an event of the stream, as JSON.' },
)

export const taskInputSchema = named(
  'TaskInput',
  {
    url: Type.String({ format: 'uri', description: 'Needs no credential: anyone with the link can see the photo.' }),
    expiresAt: time('15 minutes from now.'),
  },
  {
    url: 'https://matte.example.com/matte/private-uploads/2026/11/9b2d7a54-cat.jpg?X-Amz-Signature=0f1e2d',
    expiresAt: '2026-11-24T09:45:00.000Z',
  },
)

export const downloadSchema = named(
  'Download',
  {
    url: Type.String({
      format: 'uri',
      description: 'Needs no credential: anyone with the link can download the image.',
    }),
    expiresAt: time('Expiry of the link; request a new one.'),
    fileName: Type.String(),
    contentType: Type.String({ description: 'image/png, image/webp or image/jpeg.' }),
    size: Type.Integer({ description: 'Bytes.' }),
  },
  {
    url: 'https://matte.example.com/matte/results/0d9f2f3c-7f5b.png?X-Amz-Signature=0f1e2d',
    expiresAt: '2026-11-28T09:30:05.000Z',
    fileName: '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1.png',
    contentType: 'image/png',
    size: 734_201,
  },
)

type TaskEventView = Static<typeof taskEventSchema>

export function toTaskEventView({ id, type, payload, at, durationMs }: TaskEvent): TaskEventView {
  const { run, attempt, reason, message, confidence, charged, ...work } = payload as TaskEventView['event_payload']
  return {
    id: String(id),
    event_type: type as TaskEventView['event_type'], // the table allows no other
    event_payload: {
      run,
      ...(attempt !== undefined && { attempt }),
      ...(reason !== undefined && { reason }),
      ...(message !== undefined && { message }),
      ...(durationMs !== null && { duration_ms: durationMs }),
      ...(confidence !== undefined && { confidence }),
      ...(charged !== undefined && { charged }),
      ...workOf(work),
      at: at.toISOString(),
    },
  }
}

const workFields = ['pod', 'revision', 'pool', 'model', 'stages_ms'] as const

type Work = Pick<TaskEventView['event_payload'], (typeof workFields)[number]>

const workOf = (work: Work): Work =>
  Object.fromEntries(workFields.flatMap((name) => (work[name] === undefined ? [] : [[name, work[name]]])))

export const toTaskChangeView = (change: TaskChange): Static<typeof taskChangeSchema> => ({
  ...toTaskEventView(change),
  taskId: change.taskId,
  batchId: change.batchId,
})
