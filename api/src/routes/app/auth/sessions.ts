import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { MatteError } from '@matte/core/error'
import type { Member } from '@matte/core/identity/member-queries'
import { findFamily } from '@matte/core/identity/session/find-family'
import { countSessions, endSession, endSessions, listSessions } from '@matte/core/identity/session/session-queries'
import { Type } from 'typebox'
import { logoutRequest, sessionSchema, signedOutSchema } from '../../../schemas/app/auth.ts'
import { pageOf, pageQuery } from '../../../schemas/page.ts'
import { openResponses, refer, selfResponses, success } from '../../../schemas/schema.ts'
import { deletedSchema } from '../../../schemas/webhook.ts'
import { isUuid } from '../../../uuid.ts'
import { toSessionView } from '../../../views/app/session-view.ts'
import { buildPage, readTaskQuery } from '../../../views/task-page.ts'
import { type AuthDeps, tags } from './auth-deps.ts'

const ended = success('In force on every replica within 5 s.', refer(signedOutSchema))

const logout = {
  operationId: 'logOut',
  summary: 'Sign out',
  description:
    'Takes the access token, the refresh token, or both, and ends the session of each. One that does not work is ' +
    'ignored beside one that does. Beside an access token, a refresh token counts if it is yours.',
  tags,
  body: logoutRequest,
  response: openResponses(200, ended, ['AUTH_INVALID_TOKEN']),
}
const logoutAll = {
  operationId: 'logOutEverywhere',
  summary: 'End all your sessions, this one included',
  tags,
  response: selfResponses(200, ended, []),
}
const list = {
  operationId: 'listSessions',
  summary: 'List your sessions, newest first',
  tags,
  querystring: Type.Object(pageQuery),
  response: selfResponses(200, success('Those that have not ended.', pageOf(refer(sessionSchema))), []),
}
const remove = {
  operationId: 'endSession',
  summary: 'End a session',
  tags,
  params: Type.Object({ sessionId: Type.String() }),
  response: selfResponses(200, success('It has ended.', refer(deletedSchema)), ['NOT_FOUND']),
}

const config = { access: 'self' } as const

const noToken = (): MatteError =>
  new MatteError('AUTH_INVALID_TOKEN', 'Neither token is valid, or no longer: you are signed out, or sign in first.')

export const sessionRoutes: FastifyPluginAsyncTypebox<AuthDeps> = async (app, { db }) => {
  app.post('/logout', { schema: logout, config: { access: 'open', readsToken: true } }, async (request) => {
    const { refreshToken } = request.body
    const family = refreshToken ? await findFamily(db, refreshToken) : undefined
    const caller: Member | undefined = request.member ?? family
    if (caller === undefined) throw noToken()
    // The audit reads it.
    request.member = caller
    const { userId, sessionId } = caller
    const sessions = new Set([sessionId, family?.userId === userId ? family.sessionId : sessionId])
    const done = await Promise.all([...sessions].map((id) => endSession(db, userId, id)))
    return { status: 'signed_out' as const, endedSessions: done.filter(Boolean).length }
  })

  app.post('/logout-all', { schema: logoutAll, config }, async ({ member }) => ({
    status: 'signed_out' as const,
    endedSessions: await endSessions(db, member.userId),
  }))

  app.get('/sessions', { schema: list, config }, async ({ member, query }) => {
    const wanted = readTaskQuery(query)
    const { userId, sessionId } = member
    const { pageSize, offset, after } = wanted
    const [rows, total] = await Promise.all([
      listSessions(db, userId, { limit: pageSize + 1, offset, after }),
      countSessions(db, userId),
    ])
    const shown = rows.slice(0, pageSize)
    const last = rows.length > pageSize ? shown.at(-1) : undefined
    const next = last && { createdAtMicros: last.created_at_micros, id: last.id }
    return buildPage(
      shown.map((row) => toSessionView(row, sessionId)),
      wanted,
      { total, next },
    )
  })

  app.delete('/sessions/:sessionId', { schema: remove, config }, async ({ member, params }) => {
    const id = params.sessionId.toLowerCase()
    if (!isUuid(id) || !(await endSession(db, member.userId, id))) {
      throw new MatteError('NOT_FOUND', 'You have no such session.')
    }
    return { id, deleted: true as const }
  })
}
