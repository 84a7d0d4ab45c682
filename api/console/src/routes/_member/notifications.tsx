import { createFileRoute } from '@tanstack/react-router'
import { NotificationsPage } from '../../pages/notifications/notifications-page.tsx'

export const Route = createFileRoute('/_member/notifications')({ component: NotificationsPage })
