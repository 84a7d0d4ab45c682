import { createFileRoute } from '@tanstack/react-router'
import { Gate } from '../app/gate.tsx'

export const Route = createFileRoute('/_operator')({
  component: () => <Gate admits={['operator']} refusal="needsOperator" />,
})
