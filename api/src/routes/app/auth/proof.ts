import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { invalidParam } from '@matte/core/invalid-params'
import type { Proof } from '@matte/people/identity/session/session-proof'
import { proveByCode } from '@matte/people/identity/two-factor/prove-by-code'
import type { FastifyRequest } from 'fastify'
import { proofPath } from '../../../auth/require-proof.ts'
import { auditOf } from '../../../http/audit.ts'
import { proofRequest, proofSchema, toProofView } from '../../../schemas/app/auth.ts'
import { refer, selfResponses, success } from '../../../schemas/schema.ts'
import { type AuthDeps, tags } from './auth-deps.ts'
import { confirmOwnPassword } from './auth-requests.ts'

const prove = {
  operationId: 'proveSession',
  summary: 'Prove who you are in this session',
  description:
    'Takes your password, or a code of two-factor login. Operations that answer `AUTH_FORBIDDEN` with ' +
    '`details.reason: proof_required` then work in this session until `expiresAt`. A sign-in is a proof, and so is ' +
    'every other request with your password. Wrong passwords and codes count like those of logins.',
  tags,
  body: proofRequest,
  response: selfResponses(200, success('The proof.', refer(proofSchema)), ['CONFLICT']),
}

export const proofRoutes: FastifyPluginAsyncTypebox<AuthDeps> = async (app, deps) => {
  app.post(proofPath, { schema: prove, config: { access: 'self' } }, async (request) =>
    toProofView(await proofOf(deps, request as FastifyRequest, request.body)),
  )
}

type Given = { readonly password?: string | null | undefined; readonly code?: string | null | undefined }

/** @throws MatteError INVALID_PARAMS, CONFLICT: two-factor login is off; RATE_LIMIT_EXCEEDED, AUTH_INVALID_TOKEN */
function proofOf(deps: AuthDeps, request: FastifyRequest, { password, code }: Given): Promise<Proof> {
  const { userId, sessionId } = request.member
  const audit = auditOf(request)
  if (password != null && code == null) return confirmOwnPassword(deps, request, password, audit)
  if (code != null && password == null) return proveByCode(deps, { userId, sessionId, code, audit })
  throw invalidParam('/body', 'must have either password or code')
}
