import { createFileRoute, Navigate } from '@tanstack/react-router'
import { SignInPage } from '../pages/sign-in/sign-in-page.tsx'
import { useSession } from '../session/use-session.ts'

export const Route = createFileRoute('/sign-in')({ component: SignIn })

function SignIn() {
  const session = useSession()
  return session.kind === 'member' || session.kind === 'key' ? <Navigate to="/" replace /> : <SignInPage />
}
