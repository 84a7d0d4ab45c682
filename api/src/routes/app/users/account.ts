// Taking all of one's data along, and leaving.
import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import type { PasswordHasher } from '@matte/core/identity/password/password-hasher'
import { eraseAccount } from '@matte/core/identity/personal/erase-account'
import { exportAccount } from '@matte/core/identity/personal/export-account'
import type { FindSubscription } from '@matte/core/identity/personal/subscription'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { rateLimitExceeded } from '../../../limit/limit-requests.ts'
import type { RateLimiter } from '../../../limit/rate-limiter.ts'
import { accountExportSchema, eraseRequest } from '../../../schemas/app/user.ts'
import { refer, selfResponses, success } from '../../../schemas/schema.ts'
import { deletedSchema } from '../../../schemas/webhook.ts'
import { confirmOwnPassword } from '../own-password.ts'

export type AccountDeps = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  readonly limiter: RateLimiter
  readonly hasher: PasswordHasher
  readonly findSubscription: FindSubscription
}

const tags = ['Account']
/** A long list of tasks is read for each. */
const exportsPerMinute = 2

const getExport = {
  operationId: 'exportAccount',
  summary: 'Get all of your data',
  description:
    'Profile, memberships, sessions, logins, what you made, and orders and usage of your personal workspace. ' +
    `At most ${exportsPerMinute} a minute.`,
  tags,
  response: selfResponses(200, success('All of it.', refer(accountExportSchema)), []),
}
const eraseSchema = {
  operationId: 'deleteAccount',
  summary: 'Delete your account',
  description:
    'At once and for good. Your personal workspace goes with it; teams go on without you, and a team whose last ' +
    'owner you are must get another first. Ledger and invoices are kept without a name.',
  tags,
  body: eraseRequest,
  response: selfResponses(200, success('It is deleted.', refer(deletedSchema)), ['CONFLICT']),
}

export const accountRoutes: FastifyPluginAsyncTypebox<AccountDeps> = async (app, deps) => {
  const { db, masterKeys, limiter, findSubscription } = deps
  const config = { access: 'self' } as const

  app.get('/export', { schema: getExport, config }, async (request, reply) => {
    const { userId } = request.member
    const verdict = await limiter.take(`export:${userId}`, exportsPerMinute)
    if (!verdict.allowed) {
      const message = `You can export ${exportsPerMinute} times a minute; try again later.`
      throw rateLimitExceeded(verdict, reply, { limitName: 'exports', message })
    }
    // Written as it is read: the envelope with it, since no hook sees the whole.
    const pieces = wrap(request.id, exportAccount(db, userId))
    reply.type('application/json; charset=utf-8')
    return reply.send(Readable.from(pieces)) as never
  })

  app.delete('/profile', { schema: eraseSchema, config: { ...config, auditsAddress: false } }, async (request) => {
    const { userId } = request.member
    const { password, code } = request.body
    await confirmOwnPassword(deps, request, password)
    await eraseAccount({ db, masterKeys, findSubscription }, { userId, code: code ?? undefined })
    return { id: userId, deleted: true as const }
  })
}

/** Pieces of some size: a row at a time would be a chunk of the answer each. */
const pieceLength = 65_536

async function* wrap(requestId: string, members: AsyncIterable<string>): AsyncGenerator<string> {
  let piece = `{"request_id":${JSON.stringify(requestId)},"data":{`
  for await (const part of members) {
    piece += part
    if (piece.length < pieceLength) continue
    yield piece
    piece = ''
  }
  yield `${piece}}}`
}
