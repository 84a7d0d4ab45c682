import { Type } from 'typebox'
import { named, oneOf } from '../schema.ts'

const example = { accessToken: 'eyJ…', refreshToken: 'refresh_…', tokenType: 'Bearer', expiresIn: 900 }

/** What a login, a refresh and a switch answer with (D14). */
export const tokensSchema = named(
  'Tokens',
  {
    accessToken: Type.String({ description: 'For `Authorization: Bearer`.', examples: [example.accessToken] }),
    refreshToken: Type.String({ description: 'Works once, for the next pair.', examples: [example.refreshToken] }),
    tokenType: oneOf(['Bearer']),
    expiresIn: Type.Integer({
      description: 'Seconds until the access token ends.',
      examples: [example.expiresIn],
    }),
  },
  { examples: [example] },
)
