import { createFileRoute } from '@tanstack/react-router'
import { VerifyEmailPage } from '../pages/sign-up/verify-email-page.tsx'

export const Route = createFileRoute('/verify-email')({ component: VerifyEmailPage })
