import { accessTokenSeconds, signAccessToken } from '../access-token.ts'
import type { SigningKeysCache } from '../signing-keys-cache.ts'
import type { StartedSession } from './start-session.ts'

export type TokenIssuer = {
  readonly signingKeys: Pick<SigningKeysCache, 'current'>
  /** The public URL: `iss` of the tokens. */
  readonly issuer: string
}

/** `tokens` of the interface. */
type Tokens = {
  readonly accessToken: string
  readonly refreshToken: string
  readonly tokenType: 'Bearer'
  /** Seconds until the access token ends. */
  readonly expiresIn: number
}

/** After the commit: until then a session may yet not be. */
export async function issueTokens(issuer: TokenIssuer, session: StartedSession): Promise<Tokens> {
  const { refreshToken, ...claims } = session
  const accessToken = await signAccessToken(await issuer.signingKeys.current(), issuer.issuer, claims)
  return { accessToken, refreshToken, tokenType: 'Bearer', expiresIn: accessTokenSeconds }
}
