import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { readCode } from '@matte/core/referral/code'
import { invitationsPerDay, inviteByMail } from '@matte/core/referral/invite'
import { countOutcomes, countReferrals, findReferral, listReferrals } from '@matte/core/referral/referral-queries'
import type { FastifyContextConfig } from 'fastify'
import { Type } from 'typebox'
import type { Config } from '../../config.ts'
import { newReferralInvitation, referralInvitationSchema, referralSchema } from '../../schemas/app/referral.ts'
import { pageOf, pageQuery } from '../../schemas/page.ts'
import { refer, selfResponses, success } from '../../schemas/schema.ts'
import { toReferralInvitationView } from '../../views/app/referral-view.ts'
import { buildPage, readTaskQuery } from '../../views/task-page.ts'

type ReferralDeps = { readonly db: Db; readonly config: Config }

const tags = ['Referral']

const getSchema = {
  operationId: 'getReferral',
  summary: 'Get your referral code, and what came of it',
  tags,
  response: selfResponses(200, success('The code, its link, and counts.', refer(referralSchema)), []),
}
const listSchema = {
  operationId: 'listReferralInvitations',
  summary: 'List the people whom you have brought, newest first',
  tags,
  querystring: Type.Object(pageQuery),
  response: selfResponses(200, success('One page.', pageOf(refer(referralInvitationSchema))), []),
}
const inviteSchema = {
  operationId: 'inviteByReferral',
  summary: 'Invite somebody by mail',
  description:
    'Whether the address has an account changes nothing in the answer. An address that you have invited before gets ' +
    `no second mail, and its invitation is answered as it is. ${invitationsPerDay} in 24 hours. Where the service ` +
    'sends no mail, or not everybody may register, there is no such operation: `NOT_FOUND`.',
  tags,
  body: newReferralInvitation,
  response: selfResponses(201, success('The invitation.', refer(referralInvitationSchema)), ['CONFLICT', 'NOT_FOUND']),
}

export const referralRoutes: FastifyPluginAsyncTypebox<ReferralDeps> = async (app, { db, config }) => {
  const linkOf = (code: string): string => `${config.appUrl}/register?ref=${code}`
  // An invitation that nobody gets, or nobody can follow, is none (D73).
  const invites = config.registration === 'open' && (config.mailEnabled || config.environment === 'development')
  const refuseWithoutInvitations = (): void => {
    if (!invites) throw new MatteError('NOT_FOUND', 'There are no invitations here.')
  }
  const find = async (userId: string, id: string) => {
    const found = await findReferral(db, userId, id)
    if (found === undefined) throw new MatteError('NOT_FOUND', 'There is no such invitation.')
    return toReferralInvitationView(found)
  }

  app.get('', { schema: getSchema, config: { access: 'self' } }, async ({ member: { userId } }) => {
    const [code, counts] = await Promise.all([readCode(db, userId), countOutcomes(db, userId)])
    return { code, url: linkOf(code), rewardCredits: config.referralRewardCredits, ...counts }
  })

  app.get('/invitations', { schema: listSchema, config: { access: 'self' } }, async ({ query, member: { userId } }) => {
    const wanted = readTaskQuery(query)
    const { pageSize, offset, after } = wanted
    // One more than the page shows whether another follows.
    const [rows, total] = await Promise.all([
      listReferrals(db, userId, { limit: pageSize + 1, offset, after }),
      countReferrals(db, userId),
    ])
    const shown = rows.slice(0, pageSize)
    const last = rows.length > pageSize ? shown.at(-1) : undefined
    const next = last && { createdAtMicros: last.created_at_micros, id: last.id }
    return buildPage(shown.map(toReferralInvitationView), wanted, { total, next })
  })

  const inviteConfig = {
    access: 'self',
    exists: async () => refuseWithoutInvitations(),
    idempotent: ({ member }, id) => find(member.userId, id),
  } as const satisfies FastifyContextConfig
  app.post('/invitations', { schema: inviteSchema, config: inviteConfig }, async (request, reply) => {
    refuseWithoutInvitations()
    const { member, body, once } = request
    const { userId } = member
    const { id } = await inviteByMail(db, config.masterKeys, { userId, email: body.email, linkOf, once })
    reply.code(201)
    return find(userId, id)
  })
}
