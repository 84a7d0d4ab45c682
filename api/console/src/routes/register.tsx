import { createFileRoute, redirect } from '@tanstack/react-router'

/** Address in mails. */
export const Route = createFileRoute('/register')({
  beforeLoad: () => {
    throw redirect({ to: '/sign-up', replace: true })
  },
})
