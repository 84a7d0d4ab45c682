import { createFileRoute, redirect } from '@tanstack/react-router'

/** Address in mails. */
export const Route = createFileRoute('/login')({
  beforeLoad: () => {
    throw redirect({ to: '/sign-in', replace: true })
  },
})
