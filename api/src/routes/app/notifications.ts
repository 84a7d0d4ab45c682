import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { invalidParams } from '@matte/core/invalid-params'
import { isMailRequired } from '@matte/core/notification/event-rules'
import { countUnread, listNotifications } from '@matte/core/notification/list-notifications'
import { markAllRead, markRead, notificationNotFound } from '@matte/core/notification/mark-read'
import { changePreferences, type PreferenceChange, readPreferences } from '@matte/core/notification/preference-queries'
import { Type } from 'typebox'
import { notificationPreferenceSchema, notificationSchema, preferencesRequest } from '../../schemas/app/notification.ts'
import { pageOf, pageQuery } from '../../schemas/page.ts'
import { oneOf, refer, selfResponses, success, withDefault } from '../../schemas/schema.ts'
import { isUuid } from '../../uuid.ts'
import { toNotificationView } from '../../views/app/notification-view.ts'
import { buildPage, readTaskQuery } from '../../views/task-page.ts'

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
    unread: withDefault(oneOf(['true', 'false'], { description: '`true`: unread ones alone.' }), 'false'),
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
  description: 'One that is read already stays read since then.',
  tags,
  params: Type.Object({ notificationId: Type.String() }),
  response: selfResponses(200, success('The notification.', refer(notificationSchema)), ['NOT_FOUND']),
}
const readAllSchema = {
  operationId: 'readAllNotifications',
  summary: 'Mark all your notifications as read',
  description: 'Those that come meanwhile stay unread.',
  tags,
  response: selfResponses(
    200,
    success('How many were unread.', Type.Object({ marked: Type.Integer({ minimum: 0 }) })),
    [],
  ),
}
const getPreferencesSchema = {
  operationId: 'getNotificationPreferences',
  summary: 'Get how you are told of each event',
  tags,
  response: selfResponses(200, success('Every event.', preferences), []),
}
const putPreferencesSchema = {
  operationId: 'setNotificationPreferences',
  summary: 'Change how you are told of events',
  tags,
  body: preferencesRequest,
  response: selfResponses(200, success('Every event, as it is now.', preferences), []),
}

const config = { access: 'self' } as const

export const notificationRoutes: FastifyPluginAsyncTypebox<NotificationDeps> = async (app, { db }) => {
  app.get('', { schema: listSchema, config }, async ({ query: { unread, ...page }, member }) => {
    const wanted = readTaskQuery(page)
    const { pageSize, offset, after } = wanted
    const filter = { userId: member.userId, unread: unread === 'true' }
    // One more than the page shows whether another follows.
    const { items, total } = await listNotifications(db, filter, { limit: pageSize + 1, offset, after })
    const shown = items.slice(0, pageSize)
    const last = items.length > pageSize ? shown.at(-1) : undefined
    const position = last && { createdAtMicros: last.created_at_micros, id: last.id }
    return buildPage(shown.map(toNotificationView), wanted, { total, next: position })
  })

  app.get('/unread-count', { schema: countSchema, config }, async ({ member }) => {
    const { total, isMinimum } = await countUnread(db, member.userId)
    return { unread: total, ...(isMinimum && { unreadIsMinimum: true }) }
  })

  app.post('/:notificationId/read', { schema: readSchema, config }, async ({ params: { notificationId }, member }) => {
    if (!isUuid(notificationId)) throw notificationNotFound()
    return toNotificationView(await markRead(db, member.userId, notificationId))
  })

  app.post('/read-all', { schema: readAllSchema, config }, async ({ member }) => ({
    marked: await markAllRead(db, member.userId),
  }))

  app.get('/preferences', { schema: getPreferencesSchema, config }, async ({ member }) => ({
    preferences: await readPreferences(db, member.userId),
  }))

  app.put('/preferences', { schema: putPreferencesSchema, config }, async ({ body, member }) => {
    refuseSilence(body.preferences)
    return { preferences: await changePreferences(db, member.userId, body.preferences) }
  })
}

/** @throws MatteError INVALID_PARAMS naming every mail that cannot be switched off */
function refuseSilence(changes: readonly PreferenceChange[]): void {
  const issues = changes.flatMap(({ event, email }, index) =>
    email === false && isMailRequired(event)
      ? [{ path: `/body/preferences/${index}/email`, message: 'cannot be switched off for this event' }]
      : [],
  )
  if (issues.length > 0) throw invalidParams(issues)
}
