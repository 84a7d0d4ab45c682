// Access tokens: JWTs of type `at+jwt`, signed with EdDSA only.
import type { Role } from '@matte/core/workspace/role'
import { type CryptoKey, errors, type JWTVerifyOptions, jwtVerify, SignJWT } from 'jose'
import { type SigningKey, type SigningKeysCache, signingAlgorithm } from './signing-keys.ts'
import type { StartedSession } from './start-session.ts'

export const accessTokenSeconds = 900

const type = 'at+jwt'
const audience = 'matte-app'

type AccessClaims = {
  readonly userId: string
  readonly sessionId: string
  readonly workspaceId: string
  readonly role: Role
}

export async function signAccessToken(keys: readonly SigningKey[], issuer: string, claims: AccessClaims) {
  const key = keys.find(({ signs }) => signs)
  if (key === undefined) throw new Error('no signing key is active')
  return new SignJWT({ ws: claims.workspaceId, role: claims.role, sid: claims.sessionId })
    .setProtectedHeader({ alg: signingAlgorithm, typ: type, kid: key.kid })
    .setSubject(claims.userId)
    .setIssuer(issuer)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime(`${accessTokenSeconds}s`)
    .sign(key.privateKey)
}

/** Claims without the role: callers read the role from the membership. */
export type VerifiedToken = Omit<AccessClaims, 'role'> & { readonly expiresAtMs: number }

const clockToleranceSeconds = 5

/** Returns undefined for a token that is malformed, expired, of another type or signed by another key. */
export async function verifyAccessToken(
  keys: readonly SigningKey[],
  issuer: string,
  token: string,
): Promise<VerifiedToken | undefined> {
  const options: JWTVerifyOptions = {
    algorithms: [signingAlgorithm],
    ...{ typ: type, issuer, audience, clockTolerance: clockToleranceSeconds },
    requiredClaims: ['sub', 'ws', 'sid', 'iat', 'exp'],
  }
  try {
    const { payload } = await jwtVerify(token, ({ kid }) => findKey(keys, kid), options)
    const { sub, ws, sid, exp } = payload
    if (typeof sub !== 'string' || typeof ws !== 'string' || typeof sid !== 'string' || exp === undefined)
      return undefined
    return { userId: sub, sessionId: sid, workspaceId: ws, expiresAtMs: exp * 1_000 }
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined
    throw error
  }
}

function findKey(keys: readonly SigningKey[], kid: string | undefined): CryptoKey {
  const key = keys.find((each) => each.kid === kid)
  if (key === undefined) throw new errors.JWSSignatureVerificationFailed()
  return key.publicKey
}

export type TokenIssuer = {
  readonly signingKeys: Pick<SigningKeysCache, 'current'>
  /** Public URL, the `iss` claim. */
  readonly issuer: string
}

type Tokens = {
  readonly accessToken: string
  readonly refreshToken: string
  readonly tokenType: 'Bearer'
  readonly expiresIn: number
}

/** Called after the commit of the session. */
export async function issueTokens(issuer: TokenIssuer, session: StartedSession): Promise<Tokens> {
  const { refreshToken, ...claims } = session
  const accessToken = await signAccessToken(await issuer.signingKeys.current(), issuer.issuer, claims)
  return { accessToken, refreshToken, tokenType: 'Bearer', expiresIn: accessTokenSeconds }
}
