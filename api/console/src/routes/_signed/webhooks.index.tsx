import { createFileRoute } from '@tanstack/react-router'
import { WebhooksPage } from '../../pages/webhooks/webhooks-page.tsx'

export const Route = createFileRoute('/_signed/webhooks/')({ component: WebhooksPage })
