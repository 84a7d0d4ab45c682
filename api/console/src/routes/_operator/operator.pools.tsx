import { createFileRoute } from '@tanstack/react-router'
import { PoolsPage } from '../../pages/operator/pools-page.tsx'

export const Route = createFileRoute('/_operator/operator/pools')({ component: PoolsPage })
