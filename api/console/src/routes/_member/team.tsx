import { createFileRoute } from '@tanstack/react-router'
import { readTab } from '../../app/read-tab.ts'
import { TeamPage } from '../../pages/team/team-page.tsx'

export const Route = createFileRoute('/_member/team')({ component: TeamPage, validateSearch: readTab })
