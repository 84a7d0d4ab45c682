import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { invitationsPerDay, inviteByMail } from '@matte/people/referral/invite'
import { readCode } from '@matte/people/referral/referral-code'
import { countOutcomes, countReferrals, findReferral, listReferrals } from '@matte/people/referral/referral-queries'
import type { FastifyContextConfig } from 'fastify'
import { Type } from 'typebox'
import type { Config } from '../../config.ts'
import { commitChange } from '../../http/audit.ts'
import { readListQuery, readPage } from '../../paging.ts'
import {
  newReferralInvitation,
  referralInvitationSchema,
  referralSchema,
  toReferralInvitationView,
} from '../../schemas/app/referral.ts'
import { pageOf, pageQuery } from '../../schemas/page.ts'
import { refer, selfResponses, success } from '../../schemas/schema.ts'

type ReferralDeps = { readonly db: Db; readonly config: Config }

const tags = ['Referral']

const getSchema = {
  operationId: 'getReferral',
  summary: 'Get your referral code and its results',
  tags,
  response: selfResponses(200, success('The code, its link, and counts.', refer(referralSchema)), []),
}
const listSchema = {
  operationId: 'listReferralInvitations',
  summary: 'List the people you referred, newest first',
  tags,
  querystring: Type.Object(pageQuery),
  response: selfResponses(200, success('One page.', pageOf(refer(referralInvitationSchema))), []),
}
const inviteSchema = {
  operationId: 'inviteByReferral',
  summary: 'Invite a person by mail',
  description:
    'The response does not reveal whether the address has an account. Inviting an address again sends no second ' +
    `mail and returns its invitation. ${invitationsPerDay} in 24 hours. \`NOT_FOUND\` if the service sends no ` +
    'mail or registration is not open.',
  tags,
  body: newReferralInvitation,
  response: selfResponses(201, success('The invitation.', refer(referralInvitationSchema)), ['CONFLICT', 'NOT_FOUND']),
}

export const referralRoutes: FastifyPluginAsyncTypebox<ReferralDeps> = async (app, { db, config }) => {
  const linkOf = (code: string): string => `${config.appUrl}/register?ref=${code}`
  // An invitation needs mail and open registration.
  const invites = config.registration === 'open' && (config.mailEnabled || config.environment === 'development')
  const refuseWithoutInvitations = (): void => {
    if (!invites) throw new MatteError('NOT_FOUND', 'Invitations are not enabled.')
  }
  const find = async (userId: string, id: string) => {
    const found = await findReferral(db, userId, id)
    if (found === undefined) throw new MatteError('NOT_FOUND', 'There is no such invitation.')
    return toReferralInvitationView(found)
  }

  app.get('/api/v1/app/referral', { schema: getSchema, config: { access: 'self' } }, async ({ member: { userId } }) => {
    const [code, counts] = await Promise.all([readCode(db, userId), countOutcomes(db, userId)])
    return { code, url: linkOf(code), rewardCredits: config.referralRewardCredits, ...counts }
  })

  app.get(
    '/api/v1/app/referral/invitations',
    { schema: listSchema, config: { access: 'self' } },
    async ({ query, member: { userId } }) =>
      readPage(readListQuery(query), {
        read: (range) => Promise.all([listReferrals(db, userId, range), countReferrals(db, userId)]),
        micros: (row) => row.created_at_micros,
        view: toReferralInvitationView,
      }),
  )

  const inviteConfig = {
    access: 'self',
    exists: async () => refuseWithoutInvitations(),
    idempotent: ({ member }, id) => find(member.userId, id),
  } as const satisfies FastifyContextConfig
  app.post(
    '/api/v1/app/referral/invitations',
    { schema: inviteSchema, config: inviteConfig },
    async (request, reply) => {
      refuseWithoutInvitations()
      const { member, body, once } = request
      const { userId } = member
      const invitation = { userId, email: body.email, linkOf, once }
      const { id } = await commitChange(db, request, (tx) => inviteByMail(tx, config.masterKeys, invitation))
      reply.code(201)
      return find(userId, id)
    },
  )
}
