// Access tokens (D14): JWTs of type `at+jwt`, signed with EdDSA and nothing else.
import { type CryptoKey, errors, type JWTVerifyOptions, jwtVerify, SignJWT } from 'jose'
import type { Role } from '../workspace/role.ts'
import { type SigningKey, signingAlgorithm } from './signing-keys.ts'

/** A quarter of an hour (D14), in seconds. */
export const accessTokenSeconds = 900

const type = 'at+jwt'
const audience = 'matte-app'

type AccessClaims = {
  readonly userId: string
  readonly sessionId: string
  readonly workspaceId: string
  readonly role: Role
}

/** `issuer`: the public URL of the service, in the tokens and expected of them. */
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

/** What a valid token says; its role is a hint for clients, the membership counts. */
export type VerifiedToken = Omit<AccessClaims, 'role'> & { readonly expiresAtMs: number }

/** Clocks of pods may differ so much (seconds); time in tokens is theirs (D82). */
const clockToleranceSeconds = 5

/** Undefined: of another kind, signed by nobody here, expired, or no token at all. */
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
