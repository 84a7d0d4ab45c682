import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { invalidParams } from '@matte/core/invalid-params'
import {
  countUnread,
  listNotifications,
  markAllRead,
  markRead,
  notificationNotFound,
} from '@matte/people/notification/notification-queries'
import {
  changePreferences,
  isMailRequired,
  type PreferenceChange,
  readPreferences,
} from '@matte/people/notification/preferences'
import { Type } from 'typebox'
import { commitChange } from '../../http/audit.ts'
import { readListQuery, readPage } from '../../paging.ts'
import {
  notificationPreferenceSchema,
  notificationSchema,
  preferencesRequest,
  toNotificationView,
} from '../../schemas/app/notification.ts'
import { pageOf, pageQuery } from '../../schemas/page.ts'
import { oneOf, refer, selfResponses, success, withDefault } from '../../schemas/schema.ts'
import { isUuid } from '../../uuid.ts'

type NotificationDeps = { readonly db: Db }

const tags = ['Notifications']
const preferences = Type.Object({ preferences: Type.Array(refer(notificationPreferenceSchema)) })

const listSchema = {
  operationId: 'listNotifications',
  summary: 'List your notifications, newest first',
  description: 'From all your workspaces. Those older than 90 days are deleted.',
  tags,
  querystring: Type.Object({
    ...pageQuery,
    unread: withDefault(oneOf(['true', 'false'], { description: '`true`: only unread ones.' }), 'false'),
  }),
  response: selfResponses(200, success('One page.', pageOf(refer(notificationSchema))), []),
}
const countSchema = {
  operationId: 'countUnreadNotifications',
  summary: 'Count your unread notifications',
  tags,
  response: selfResponses(
    200,
    success(
      'The number.',
      Type.Object({
        unread: Type.Integer({ minimum: 0, description: 'Counted up to 10000.' }),
        unreadIsMinimum: Type.Optional(Type.Literal(true, { description: 'There are more; absent when it is exact.' })),
      }),
    ),
    [],
  ),
}
const readSchema = {
  operationId: 'readNotification',
  summary: 'Mark a notification as read',
  description: 'Marking it again changes nothing.',
  tags,
  params: Type.Object({ notificationId: Type.String() }),
  response: selfResponses(200, success('The notification.', refer(notificationSchema)), ['NOT_FOUND']),
}
const readAllSchema = {
  operationId: 'readAllNotifications',
  summary: 'Mark all your notifications as read',
  description: 'Notifications that arrive meanwhile stay unread.',
  tags,
  response: selfResponses(
    200,
    success('Number of notifications that were unread.', Type.Object({ marked: Type.Integer({ minimum: 0 }) })),
    [],
  ),
}
const getPreferencesSchema = {
  operationId: 'getNotificationPreferences',
  summary: 'Get your notification preferences',
  tags,
  response: selfResponses(200, success('Every event.', preferences), []),
}
const putPreferencesSchema = {
  operationId: 'setNotificationPreferences',
  summary: 'Change your notification preferences',
  tags,
  body: preferencesRequest,
  response: selfResponses(200, success('All events with their current preferences.', preferences), []),
}

const config = { access: 'self' } as const

export const notificationRoutes: FastifyPluginAsyncTypebox<NotificationDeps> = async (app, { db }) => {
  app.get(
    '/api/v1/app/notifications',
    { schema: listSchema, config },
    async ({ query: { unread, ...page }, member }) => {
      const filter = { userId: member.userId, unread: unread === 'true' }
      return readPage(readListQuery(page), {
        read: async (range) => {
          const { items, total } = await listNotifications(db, filter, range)
          return [items, total] as const
        },
        micros: (row) => row.created_at_micros,
        view: toNotificationView,
      })
    },
  )

  app.get('/api/v1/app/notifications/unread-count', { schema: countSchema, config }, async ({ member }) => {
    const { total, isMinimum } = await countUnread(db, member.userId)
    return { unread: total, ...(isMinimum && { unreadIsMinimum: true }) }
  })

  app.post('/api/v1/app/notifications/:notificationId/read', { schema: readSchema, config }, async (request) => {
    const { notificationId } = request.params
    if (!isUuid(notificationId)) throw notificationNotFound()
    const { userId } = request.member
    return toNotificationView(await commitChange(db, request, (tx) => markRead(tx, userId, notificationId)))
  })

  app.post('/api/v1/app/notifications/read-all', { schema: readAllSchema, config }, async (request) => ({
    marked: await commitChange(db, request, (tx) => markAllRead(tx, request.member.userId)),
  }))

  app.get('/api/v1/app/notifications/preferences', { schema: getPreferencesSchema, config }, async ({ member }) => ({
    preferences: await readPreferences(db, member.userId),
  }))

  app.put('/api/v1/app/notifications/preferences', { schema: putPreferencesSchema, config }, async (request) => {
    const { preferences } = request.body
    const { userId } = request.member
    checkRequiredMails(preferences)
    return { preferences: await commitChange(db, request, (tx) => changePreferences(tx, userId, preferences)) }
  })
}

/** @throws MatteError INVALID_PARAMS naming every mail that cannot be disabled */
function checkRequiredMails(changes: readonly PreferenceChange[]): void {
  const issues = changes.flatMap(({ event, email }, index) =>
    email === false && isMailRequired(event)
      ? [{ path: `/body/preferences/${index}/email`, message: 'cannot be switched off for this event' }]
      : [],
  )
  if (issues.length > 0) throw invalidParams(issues)
}
