import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { inTransaction } from '@matte/core/db/in-transaction'
import { MatteError } from '@matte/core/error'
import { findFamily, type Member } from '@matte/people/identity/session/find-member'
import { countSessions, endSession, endSessions, listSessions } from '@matte/people/identity/session/session-queries'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { auditOf, commitChange } from '../../../http/audit.ts'
import { readListQuery, readPage } from '../../../paging.ts'
import { logoutRequest, sessionSchema, signedOutSchema, toSessionView } from '../../../schemas/app/auth.ts'
import { pageOf, pageQuery } from '../../../schemas/page.ts'
import { openResponses, refer, selfResponses, success } from '../../../schemas/schema.ts'
import { deletedSchema } from '../../../schemas/webhook.ts'
import { normalizeId } from '../../../uuid.ts'
import { type AuthDeps, tags } from './auth-deps.ts'

const ended = success('Takes effect on every replica within 5 s.', refer(signedOutSchema))

const logout = {
  operationId: 'logOut',
  summary: 'Sign out',
  description:
    'Takes the access token, the refresh token, or both, and ends the session of each. If one is invalid, it is ' +
    'ignored. With an access token, a refresh token counts only if it is yours. Without a refresh token in the body, ' +
    'that of the cookie session counts, and the cookie is deleted.',
  tags,
  body: logoutRequest,
  response: openResponses(200, ended, ['AUTH_INVALID_TOKEN', 'AUTH_FORBIDDEN']),
}
const logoutAll = {
  operationId: 'logOutEverywhere',
  summary: 'End all your sessions, including this one',
  tags,
  response: selfResponses(200, ended, []),
}
const list = {
  operationId: 'listSessions',
  summary: 'List your sessions, newest first',
  tags,
  querystring: Type.Object(pageQuery),
  response: selfResponses(200, success('Active sessions.', pageOf(refer(sessionSchema))), []),
}
const remove = {
  operationId: 'endSession',
  summary: 'End a session',
  tags,
  params: Type.Object({ sessionId: Type.String() }),
  response: selfResponses(200, success('The session has ended.', refer(deletedSchema)), ['NOT_FOUND']),
}

const config = { access: 'self' } as const

const sessionNotFound = (): MatteError => new MatteError('NOT_FOUND', 'You have no such session.')

const noToken = (): MatteError =>
  new MatteError('AUTH_INVALID_TOKEN', 'No valid token was sent: the session may have ended already.')

export const sessionRoutes: FastifyPluginAsyncTypebox<AuthDeps> = async (app, deps) => {
  const { db, cookie, sessionIdleHours } = deps
  app.post(
    '/api/v1/app/auth/logout',
    { schema: logout, config: { access: 'open', readsToken: true } },
    async (request, reply) => {
      const fromCookie = request.body.refreshToken ? undefined : cookie.read(request as FastifyRequest)
      const refreshToken = request.body.refreshToken ?? fromCookie
      const family = refreshToken ? await findFamily(db, refreshToken) : undefined
      const caller: Member | undefined = request.member ?? family
      // Another tab may have signed another person in since; that cookie stays.
      if (fromCookie !== undefined && (family === undefined || family.userId === caller?.userId)) cookie.clear(reply)
      if (caller === undefined) throw noToken()
      const { userId, sessionId } = caller
      const audit = auditOf(request, { userId })
      const sessions = new Set([sessionId, family?.userId === userId ? family.sessionId : sessionId])
      const endedSessions = await inTransaction(db, async (tx) => {
        let ended = 0
        for (const id of [...sessions].sort()) ended += (await endSession(tx, userId, id)) ? 1 : 0
        await audit(tx)
        return ended
      })
      return { status: 'signed_out' as const, endedSessions }
    },
  )

  app.post('/api/v1/app/auth/logout-all', { schema: logoutAll, config }, async (request) => ({
    status: 'signed_out' as const,
    endedSessions: await commitChange(db, request, (tx) => endSessions(tx, request.member.userId)),
  }))

  app.get('/api/v1/app/auth/sessions', { schema: list, config }, async ({ member, query }) => {
    const { userId, sessionId } = member
    const owner = { userId, sessionIdleHours }
    return readPage(readListQuery(query), {
      read: (range) => Promise.all([listSessions(db, owner, range), countSessions(db, owner)]),
      micros: (row) => row.created_at_micros,
      view: (row) => toSessionView(row, sessionId),
    })
  })

  app.delete('/api/v1/app/auth/sessions/:sessionId', { schema: remove, config }, async (request) => {
    const id = normalizeId(request.params.sessionId, sessionNotFound)
    await commitChange(db, request, async (tx) => {
      if (!(await endSession(tx, request.member.userId, id))) throw sessionNotFound()
    })
    return { id, deleted: true as const }
  })
}
