import type { SignInClient } from '@matte/core/identity/session/start-session'
import type { FastifyRequest } from 'fastify'

type Signed = Pick<FastifyRequest, 'member' | 'ip' | 'headers'>

/** Somebody who is signed in proves it again, with `password` of the body. @throws MatteError INVALID_PARAMS, RATE_LIMIT_EXCEEDED */
export type ConfirmPassword = (request: Signed, password: string) => Promise<void>

export const clientOf = ({ ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'>): SignInClient => ({
  ipAddress: ip,
  userAgent: headers['user-agent'] ?? null,
})
