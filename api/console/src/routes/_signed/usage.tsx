import { createFileRoute } from '@tanstack/react-router'
import { UsagePage } from '../../pages/usage/usage-page.tsx'

export const Route = createFileRoute('/_signed/usage')({ component: UsagePage })
