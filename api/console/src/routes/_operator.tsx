import { createFileRoute, Outlet } from '@tanstack/react-router'
import { OperatorSignIn } from '../pages/operator/operator-sign-in.tsx'
import { useSession } from '../session/use-session.ts'

export const Route = createFileRoute('/_operator')({ component: Operators })

/** An operator's session is apart from that of a member in the same browser. */
function Operators() {
  const session = useSession()
  return session.kind === 'operator' ? <Outlet /> : <OperatorSignIn />
}
