import { createFileRoute } from '@tanstack/react-router'
import { ConfirmEmailPage } from '../pages/sign-up/confirm-email-page.tsx'

export const Route = createFileRoute('/confirm-email')({ component: ConfirmEmailPage })
