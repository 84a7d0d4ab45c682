// Authentication of operators: the token of the settings, or a session from a link of `matte-admin console-link`.
import { timingSafeEqual } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { findOperatorSession, hashOperatorCredential, isOperatorSession } from '@matte/core/operator-credential'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CredentialGuard } from '../limit/credential-guard.ts'
import { shortCache } from './short-cache.ts'

export type Operator = {
  /** Subject of the rate limit. */
  readonly holder: string
  readonly session?: { readonly hash: Buffer; readonly expiresAt: Date }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on routes with access `operator`. */
    operator: Operator
  }
}

export type Operators = {
  find(token: string, lookUp: LookUp): Promise<Operator | undefined>
  /** This replica refuses the session at once, the others within 5 s. */
  forget(hash: Buffer): void
}

type LookUp = <T>(find: () => Promise<T>) => Promise<T>

export function operatorsOf(db: Db, operatorToken: string | undefined): Operators {
  const sessions = shortCache<Date>()
  // Hashes have one length, so the comparison takes the same time for every token.
  const expected = operatorToken === undefined ? undefined : hashOperatorCredential(operatorToken)
  return {
    forget: (hash) => sessions.forget(hash.toString('base64')),
    find: async (token, lookUp) => {
      const hash = hashOperatorCredential(token)
      if (expected !== undefined && timingSafeEqual(hash, expected)) return { holder: 'operator:token' }
      if (!isOperatorSession(token)) return undefined
      const name = hash.toString('base64')
      const read = (): Promise<Date | undefined> => sessions.find(name, () => findOperatorSession(db, hash))
      const expiresAt = await (sessions.knows(name) ? read() : lookUp(read))
      if (expiresAt === undefined) return undefined
      return { holder: `operator:${name.slice(0, 16)}`, session: { hash, expiresAt } }
    },
  }
}

type OperatorDeps = { readonly operators: Operators; readonly guard: CredentialGuard }

/** @throws MatteError AUTH_INVALID_TOKEN, RATE_LIMIT_EXCEEDED after too many failures */
export async function authenticateOperator(
  { operators, guard }: OperatorDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Operator> {
  const [, token] = /^Bearer +([\w.~+/=-]{1,512})$/i.exec(request.headers.authorization ?? '') ?? []
  if (token === undefined) {
    throw new MatteError('AUTH_INVALID_TOKEN', 'Send the operator token: Authorization: Bearer <token>.')
  }
  const operator = await operators.find(token, (find) => guard.lookUp(request, find))
  if (operator !== undefined) return operator
  await guard.noteFailure(request, reply)
  const message = 'This operator token is invalid or has expired: open a new link from `matte-admin console-link`.'
  throw new MatteError('AUTH_INVALID_TOKEN', message)
}
