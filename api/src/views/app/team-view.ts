import type { listChanges } from '@matte/core/audit/list-changes'
import type { TeamBilling } from '@matte/core/team/billing'
import type { InviteRow } from '@matte/core/team/invite/invite-queries'
import type { MemberRow } from '@matte/core/team/member-queries'
import type { TeamRow } from '@matte/core/team/team-queries'
import type { Static } from 'typebox'
import type {
  auditEntrySchema,
  teamBillingSchema,
  teamInviteSchema,
  teamMemberSchema,
  teamSchema,
} from '../../schemas/app/team.ts'

export const toTeamView = ({ createdAt, ...team }: TeamRow): Static<typeof teamSchema> => ({
  ...team,
  createdAt: createdAt.toISOString(),
})

export const toMemberView = ({ joinedAt, ...member }: MemberRow): Static<typeof teamMemberSchema> => ({
  ...member,
  joinedAt: joinedAt.toISOString(),
})

export const toInviteView = ({ createdAt, expiresAt, ...invite }: InviteRow): Static<typeof teamInviteSchema> => ({
  ...invite,
  createdAt: createdAt.toISOString(),
  expiresAt: expiresAt.toISOString(),
})

export const toBillingView = (billing: TeamBilling): Static<typeof teamBillingSchema> => ({
  ...billing,
  addressLines: [...billing.addressLines],
  subscription: billing.subscription && {
    ...billing.subscription,
    periodEnd: billing.subscription.periodEnd.toISOString(),
  },
  invoices: billing.invoices.map((invoice) => ({ ...invoice, issuedAt: invoice.issuedAt.toISOString() })),
})

type Change = Awaited<ReturnType<typeof listChanges>>[number]

export const toAuditEntryView = ({ atMicros: _, at, ...change }: Change): Static<typeof auditEntrySchema> => ({
  ...change,
  at: at.toISOString(),
})
