// Export and deletion of an account.

import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { eraseAccount } from '@matte/people/identity/account/erase-account'
import { exportAccount } from '@matte/people/identity/account/export-account'
import type { FindSubscription } from '@matte/people/identity/account/own-workspaces'
import type { PasswordHasher } from '@matte/people/identity/password/password-hasher'
import { auditOf } from '../../../http/audit.ts'
import { rateLimitExceeded } from '../../../limit/limit-requests.ts'
import type { RateLimiter } from '../../../limit/rate-limiter.ts'
import { accountExportSchema, eraseRequest } from '../../../schemas/app/user.ts'
import { refer, selfResponses, success } from '../../../schemas/schema.ts'
import { deletedSchema } from '../../../schemas/webhook.ts'
import { confirmOwnPassword } from '../auth/auth-requests.ts'

export type AccountDeps = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  readonly limiter: RateLimiter
  readonly hasher: PasswordHasher
  readonly findSubscription: FindSubscription
}

const tags = ['Account']
/** Each reads all tasks of the account. */
const exportsPerMinute = 2

const getExport = {
  operationId: 'exportAccount',
  summary: 'Get all of your data',
  description:
    'Profile, memberships, sessions, logins, your resources, and orders and usage of your personal workspace. ' +
    `At most ${exportsPerMinute} a minute.`,
  tags,
  response: selfResponses(200, success('Your data.', refer(accountExportSchema)), []),
}
const eraseSchema = {
  operationId: 'deleteAccount',
  summary: 'Delete your account',
  description:
    'Immediate and permanent. Deletes your personal workspace. Teams continue without you; a team needs another ' +
    'owner first if you are the last one. Ledger and invoices are kept without a name.',
  tags,
  body: eraseRequest,
  response: selfResponses(200, success('The account is deleted.', refer(deletedSchema)), ['CONFLICT']),
}

export const accountRoutes: FastifyPluginAsyncTypebox<AccountDeps> = async (app, deps) => {
  const { db, masterKeys, limiter, findSubscription } = deps
  const config = { access: 'self' } as const

  const exportConfig = { ...config, needsProof: true } as const
  app.get('/api/v1/app/users/export', { schema: getExport, config: exportConfig }, async (request, reply) => {
    const { userId } = request.member
    const verdict = await limiter.take(`export:${userId}`, exportsPerMinute)
    if (!verdict.allowed) {
      const message = `You can export ${exportsPerMinute} times a minute; try again later.`
      throw rateLimitExceeded(verdict, reply, { limitName: 'exports', message })
    }
    // Streamed with its envelope, because the hook sees only whole payloads.
    const pieces = wrap(request.id, exportAccount(db, userId))
    reply.type('application/json; charset=utf-8')
    return reply.send(Readable.from(pieces)) as never
  })

  app.delete(
    '/api/v1/app/users/profile',
    { schema: eraseSchema, config: { ...config, auditsAddress: false } },
    async (request) => {
      const { userId } = request.member
      const { password, code } = request.body
      await confirmOwnPassword(deps, request, password)
      await eraseAccount(
        { db, masterKeys, findSubscription },
        { userId, code: code ?? undefined, audit: auditOf(request) },
      )
      return { id: userId, deleted: true as const }
    },
  )
}

/** Batches rows: one chunk per row would be slow. */
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
