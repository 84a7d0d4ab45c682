import { createFileRoute } from '@tanstack/react-router'

export const Route = createFileRoute('/_operator')({
  component: RouteComponent,
})

function RouteComponent() {
  return <div>Hello "/_operator"!</div>
}
