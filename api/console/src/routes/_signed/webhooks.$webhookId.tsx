import { createFileRoute } from '@tanstack/react-router'
import { WebhookPage } from '../../pages/webhooks/webhook-page.tsx'

export const Route = createFileRoute('/_signed/webhooks/$webhookId')({ component: WebhookPage })
