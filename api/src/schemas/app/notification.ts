import { webhookEvents } from '@matte/core/webhook/events'
import type { ShownNotification } from '@matte/people/notification/notification-queries'
import { Type } from 'typebox'
import { named, nullable, oneOf, time, uuid } from '../schema.ts'

export const notificationSchema = named(
  'Notification',
  {
    id: uuid(),
    type: oneOf(webhookEvents, { description: 'The event.' }),
    title: Type.String(),
    body: Type.String(),
    data: Type.Object(
      {},
      { additionalProperties: true, description: "The event's fields as in its webhook, without `message` and links." },
    ),
    readAt: nullable(time('Null: unread.')),
    createdAt: time(),
  },
  {
    id: '5a0f6a0e-6c2f-4b8a-9a53-6b2a4c1d0f7e',
    type: 'batch.completed',
    title: 'Your batch is complete',
    body: '48 of 50 images succeeded.',
    data: {
      batch_job_id: '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1',
      total_count: 50,
      success_count: 48,
      failed_count: 2,
    },
    readAt: null,
    createdAt: '2026-11-22T09:30:00.000Z',
  },
)

export const notificationPreferenceSchema = named('NotificationPreference', {
  event: oneOf(webhookEvents),
  inApp: Type.Boolean({ description: 'Create a notification.' }),
  email: Type.Boolean({ description: 'Send a mail.' }),
  emailRequired: Type.Boolean({ description: 'The mail cannot be switched off.' }),
})

export const preferencesRequest = Type.Object(
  {
    preferences: Type.Array(
      Type.Object({
        event: oneOf(webhookEvents),
        inApp: Type.Optional(Type.Boolean()),
        email: Type.Optional(Type.Boolean()),
      }),
      {
        minItems: 1,
        maxItems: 100,
        description: 'Changes; other events and channels stay as they are.',
      },
    ),
  },
  { examples: [{ preferences: [{ event: 'task.succeeded', inApp: true, email: false }] }] },
)

export const toNotificationView = (row: ShownNotification) => ({
  id: row.id,
  type: row.type,
  title: row.title,
  body: row.body,
  data: row.data,
  readAt: row.read_at?.toISOString() ?? null,
  createdAt: row.created_at.toISOString(),
})
