import { createFileRoute } from '@tanstack/react-router'
import { Gate } from '../app/gate.tsx'

export const Route = createFileRoute('/_signed')({
  component: () => <Gate admits={['member', 'key']} />,
})
