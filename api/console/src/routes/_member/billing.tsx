import { createFileRoute } from '@tanstack/react-router'
import { BillingPage } from '../../pages/billing/billing-page.tsx'

export const Route = createFileRoute('/_member/billing')({ component: BillingPage })
