import { Type } from 'typebox'
import { named } from './schema.ts'

/** What keys the signatures of events that a `callbackUrl` gets (D62). */
export const signingSecretSchema = named(
  'SigningSecret',
  { signingSecret: Type.String({ description: '`whsec_` and base64; the whole text keys X-Service-Signature.' }) },
  { examples: [{ signingSecret: 'whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ=' }] },
)
