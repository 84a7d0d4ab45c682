import type { ShownNotification } from '@matte/core/notification/list-notifications'

export const toNotificationView = (row: ShownNotification) => ({
  id: row.id,
  type: row.type,
  title: row.title,
  body: row.body,
  data: row.data,
  readAt: row.read_at?.toISOString() ?? null,
  createdAt: row.created_at.toISOString(),
})
