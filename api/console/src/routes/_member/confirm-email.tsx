import { createFileRoute } from '@tanstack/react-router'
import { ConfirmEmailPage } from '../../pages/sign-up/confirm-email-page.tsx'

export const Route = createFileRoute('/_member/confirm-email')({ component: ConfirmEmailPage })
