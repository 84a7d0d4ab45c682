import { MatteError } from '@matte/core/error'
import { type VerifiedToken, verifyAccessToken } from '@matte/core/identity/access-token'
import type { Member } from '@matte/core/identity/member-queries'
import type { SigningKeysCache } from '@matte/core/identity/signing-keys-cache'
import { BoundedMap } from '@matte/core/runtime/bounded-map'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CredentialGuard } from '../limit/credential-guard.ts'
import { isUuid } from '../uuid.ts'
import type { MemberCache } from './member-cache.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of the routes of members: when the access token expires, in milliseconds by the clock of this process. */
    tokenEndsAtMs: number
  }
}

export type MemberDeps = {
  readonly members: MemberCache
  readonly signingKeys: Pick<SigningKeysCache, 'current'>
  readonly tokens: TokenCache
  /** The public URL: `iss` of the tokens. */
  readonly issuer: string
  readonly guard: CredentialGuard
}

/** Tokens whose signature was verified, until they end: a signature costs more than the rest of a read. */
type TokenCache = BoundedMap<string, VerifiedToken>

/** About 10 MB; past it the oldest entry goes, and its token is verified again. */
const tokensMax = 10_000
/** Longer than any of ours; a header of another kind is not worth a look. */
const tokenLengthMax = 2_048

export const tokenCache = (): TokenCache => new BoundedMap(tokensMax)

/** `own`: in the token's workspace; `member`: in the one that the path names, or that one. Undefined: there is none. */
type Authenticated = { readonly own: Member; readonly member: Member | undefined }

/**
 * Who sent this access token.
 * @throws MatteError AUTH_INVALID_TOKEN: missing, of another kind, expired, or of a session that has ended (D14);
 *   RATE_LIMIT_EXCEEDED for one too many of them from one address.
 */
export async function authenticateMember(
  { members, guard, ...deps }: MemberDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Authenticated> {
  const token = readBearer(request.headers.authorization)
  if (token === undefined) {
    throw new MatteError('AUTH_INVALID_TOKEN', 'Send your access token: Authorization: Bearer <token>.')
  }
  const verified = await verify(deps, token)
  const own = verified && (await findIn(members, verified, verified.workspaceId))
  if (verified === undefined || own === undefined) {
    await guard.noteFailure(request, reply)
    throw new MatteError('AUTH_INVALID_TOKEN', 'This access token is not valid, or no longer: sign in or refresh it.')
  }
  request.tokenEndsAtMs = verified.expiresAtMs
  const { teamId } = request.params as { readonly teamId?: string }
  if (teamId === undefined) return { own, member: own }
  return { own, member: isUuid(teamId) ? await findIn(members, verified, teamId.toLowerCase()) : undefined }
}

/**
 * Sets `member` when an operation that needs no credential comes with an access token that works.
 * @throws MatteError RATE_LIMIT_EXCEEDED for one too many that do not work
 */
export async function recogniseMember(deps: MemberDeps, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (request.headers.authorization === undefined) return
  try {
    request.member = (await authenticateMember(deps, request, reply)).own
  } catch (error) {
    if (!(error instanceof MatteError) || error.code !== 'AUTH_INVALID_TOKEN') throw error
  }
}

const findIn = (members: MemberCache, { sessionId }: VerifiedToken, workspaceId: string) =>
  members.find(sessionId, workspaceId)

function readBearer(header: string | undefined): string | undefined {
  const [, token] = /^Bearer +([\w.-]+)$/i.exec(header ?? '') ?? []
  return token !== undefined && token.length <= tokenLengthMax ? token : undefined
}

async function verify(
  { tokens, signingKeys, issuer }: Pick<MemberDeps, 'tokens' | 'signingKeys' | 'issuer'>,
  token: string,
): Promise<VerifiedToken | undefined> {
  const known = tokens.get(token)
  if (known !== undefined) return known.expiresAtMs > Date.now() ? known : undefined
  const verified = await verifyAccessToken(await signingKeys.current(), issuer, token)
  if (verified !== undefined) tokens.set(token, verified)
  return verified
}
