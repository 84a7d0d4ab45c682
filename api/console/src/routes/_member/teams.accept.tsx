import { createFileRoute } from '@tanstack/react-router'
import { AcceptInvitePage } from '../../pages/sign-up/accept-invite-page.tsx'

export const Route = createFileRoute('/_member/teams/accept')({ component: AcceptInvitePage })
