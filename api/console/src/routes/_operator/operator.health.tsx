import { createFileRoute } from '@tanstack/react-router'
import { HealthPage } from '../../pages/operator/health-page.tsx'

export const Route = createFileRoute('/_operator/operator/health')({ component: HealthPage })
