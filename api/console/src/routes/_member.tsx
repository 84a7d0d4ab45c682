import { createFileRoute } from '@tanstack/react-router'
import { Gate } from '../app/gate.tsx'

export const Route = createFileRoute('/_member')({
  component: () => <Gate admits={['member']} />,
})
