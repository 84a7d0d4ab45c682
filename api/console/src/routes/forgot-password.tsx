import { createFileRoute } from '@tanstack/react-router'
import { ForgotPasswordPage } from '../pages/sign-up/forgot-password-page.tsx'

export const Route = createFileRoute('/forgot-password')({ component: ForgotPasswordPage })
