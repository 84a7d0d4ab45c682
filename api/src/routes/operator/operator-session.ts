import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { inTransaction } from '@matte/core/db/in-transaction'
import { MatteError } from '@matte/core/error'
import { endOperatorSession, takeConsoleLink } from '@matte/core/operator-credential'
import type { Operators } from '../../auth/operator.ts'
import { auditOf, commitChange } from '../../http/audit.ts'
import {
  consoleLinkRequest,
  endedOperatorSessionSchema,
  newOperatorSessionSchema,
  operatorSessionSchema,
} from '../../schemas/operator.ts'
import { openResponses, refer, selfResponses, success } from '../../schemas/schema.ts'

export type OperatorSessionDeps = { readonly db: Db; readonly operators: Pick<Operators, 'forget'> }

const path = '/api/v1/operator/session'
const tags = ['Operator']

const beginSchema = {
  operationId: 'beginOperatorSession',
  summary: 'Exchange the code of a console link for a token',
  description:
    '`matte-admin console-link` prints the link. Its code works once, within 10 minutes; opening the link spends ' +
    'nothing. `AUTH_INVALID_TOKEN` if the code is unknown, spent or expired.',
  tags,
  body: consoleLinkRequest,
  response: openResponses(200, success('The token.', refer(newOperatorSessionSchema)), ['AUTH_INVALID_TOKEN']),
}
const getSchema = {
  operationId: 'getOperatorSession',
  summary: 'Get the kind and the end of your operator credential',
  tags,
  response: selfResponses(200, success('The credential of this request.', refer(operatorSessionSchema)), []),
}
const endSchema = {
  operationId: 'endOperatorSession',
  summary: 'End your operator session',
  description: 'Other replicas refuse the token within 5 s. `matte-admin console-sign-out` ends all sessions.',
  tags,
  response: selfResponses(200, success('Whether a session ended.', refer(endedOperatorSessionSchema)), []),
}

export const operatorSessionRoutes: FastifyPluginAsyncTypebox<OperatorSessionDeps> = async (app, { db, operators }) => {
  app.post(path, { schema: beginSchema, config: { access: 'open' } }, async (request) => {
    const audit = auditOf(request, { actor: 'operator' })
    const session = await inTransaction(db, async (tx) => {
      const begun = await takeConsoleLink(tx, request.body.code)
      if (begun !== undefined) await audit(tx)
      return begun
    })
    if (session === undefined) {
      const message = 'This link is unknown, used or expired: print a new one with `matte-admin console-link`.'
      throw new MatteError('AUTH_INVALID_TOKEN', message)
    }
    return { accessToken: session.secret, expiresAt: session.expiresAt.toISOString() }
  })

  app.get(path, { schema: getSchema, config: { access: 'operator' } }, async ({ operator: { session } }) => ({
    credential: session === undefined ? ('token' as const) : ('session' as const),
    expiresAt: session?.expiresAt.toISOString() ?? null,
  }))

  app.delete(path, { schema: endSchema, config: { access: 'operator' } }, async (request) => {
    const { session } = request.operator
    if (session === undefined) return { ended: false }
    await commitChange(db, request, (tx) => endOperatorSession(tx, session.hash))
    operators.forget(session.hash)
    return { ended: true }
  })
}
