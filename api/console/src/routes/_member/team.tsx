import { createFileRoute } from '@tanstack/react-router'
import { TeamPage } from '../../pages/team/team-page.tsx'
import { readTab } from '../../ui/read-tab.ts'

export const Route = createFileRoute('/_member/team')({ component: TeamPage, validateSearch: readTab })
