import { createFileRoute } from '@tanstack/react-router'
import { CreditsPage } from '../../pages/credits/credits-page.tsx'

export const Route = createFileRoute('/_member/credits')({ component: CreditsPage })
