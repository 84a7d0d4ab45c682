import { createFileRoute } from '@tanstack/react-router'
import { ResetPasswordPage } from '../pages/sign-up/reset-password-page.tsx'

export const Route = createFileRoute('/reset-password')({ component: ResetPasswordPage })
