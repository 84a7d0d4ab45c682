import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { BoundedMap } from '@matte/core/runtime/bounded-map'
import { type VerifiedToken, verifyAccessToken } from '@matte/people/identity/session/access-token'
import { findMember, type Member } from '@matte/people/identity/session/find-member'
import type { SigningKeysCache } from '@matte/people/identity/session/signing-keys'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CredentialGuard } from '../limit/credential-guard.ts'
import { isUuid } from '../uuid.ts'
import { shortCache } from './short-cache.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Expiry of the access token in milliseconds, by the clock of this process. Set on routes of members. */
    tokenEndsAtMs: number
  }
}

export type MemberDeps = {
  readonly members: MemberCache
  readonly signingKeys: Pick<SigningKeysCache, 'current'>
  readonly tokens: TokenCache
  readonly issuer: string
  readonly guard: CredentialGuard
}

/** Verified tokens until they expire: verifying a signature costs more than the rest of a read. */
type TokenCache = BoundedMap<string, VerifiedToken>

/** About 10 MB; the oldest entry is evicted. */
const tokensMax = 10_000
/** Longer than any token of this service. */
const tokenLengthMax = 2_048

export const tokenCache = (): TokenCache => new BoundedMap(tokensMax)

/** `own`: in the workspace of the token. `member`: in the workspace of the path; undefined when not a member. */
type Authenticated = { readonly own: Member; readonly member: Member | undefined }

/**
 * @throws MatteError AUTH_INVALID_TOKEN (also for an ended session), RATE_LIMIT_EXCEEDED after too many failures
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
    throw new MatteError('AUTH_INVALID_TOKEN', 'This access token is invalid or has expired: sign in or refresh it.')
  }
  request.tokenEndsAtMs = verified.expiresAtMs
  const { teamId } = request.params as { readonly teamId?: string }
  if (teamId === undefined) return { own, member: own }
  return { own, member: isUuid(teamId) ? await findIn(members, verified, teamId.toLowerCase()) : undefined }
}

/** Sets `member` if the token is valid. @throws MatteError RATE_LIMIT_EXCEEDED after too many failures */
export async function readOptionalMember(
  deps: MemberDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
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

export type MemberCache = {
  /** Undefined: the session has ended, the user is disabled, or the workspace does not exist. */
  find(sessionId: string, workspaceId: string): Promise<Member | undefined>
}

export function memberCache(db: Db): MemberCache {
  const cache = shortCache<Member>()
  return {
    find: (sessionId, workspaceId) =>
      cache.find(`${sessionId} ${workspaceId}`, () => findMember(db, sessionId, workspaceId)),
  }
}
