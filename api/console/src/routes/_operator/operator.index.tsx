import { createFileRoute } from '@tanstack/react-router'
import { OverviewPage } from '../../pages/operator/overview-page.tsx'

export const Route = createFileRoute('/_operator/operator/')({ component: OverviewPage })
