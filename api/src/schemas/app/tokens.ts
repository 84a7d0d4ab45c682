import { Type } from 'typebox'
import { named, oneOf } from '../schema.ts'

/** What a login, a refresh and a switch answer with (D14). */
export const tokensSchema = named(
  'Tokens',
  {
    accessToken: Type.String({ description: 'For `Authorization: Bearer`.' }),
    refreshToken: Type.String({ description: 'Works once, for the next pair.' }),
    tokenType: oneOf(['Bearer']),
    expiresIn: Type.Integer({ description: 'Seconds until the access token ends.' }),
  },
  { examples: [{ accessToken: 'eyJ…', refreshToken: 'refresh_…', tokenType: 'Bearer', expiresIn: 900 }] },
)
