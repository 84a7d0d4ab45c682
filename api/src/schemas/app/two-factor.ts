import { Type } from 'typebox'
import { patterns } from '../../patterns.ts'
import { named, nullable, nullableOneOf, withDefault } from '../schema.ts'

const text = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: patterns.storable, description })

const codeWords = 'Six digits of the authenticator app, or a recovery code; each works once.'
const codeField = text(64, codeWords)
export const optionalCode = Type.Optional(nullable(text(64, `Required if two-factor login is on. ${codeWords}`)))
export const proofCode = Type.Optional(nullable(text(64, codeWords)))
export const passwordField = text(1_024, 'Your password.')

/** Field of each operation that returns a refresh token. */
export const sessionField = withDefault(
  nullableOneOf(['token', 'cookie'], {
    description:
      'Where the refresh token goes. `token`: into the response. `cookie`: into an `HttpOnly` cookie that ' +
      '`refreshTokens` and `logOut` read, only for pages of this service: `Origin` must be its own, and its URL HTTPS ' +
      'or a loopback address.',
  }),
  'token',
)

export const twoFactorSetupSchema = named(
  'TwoFactorSetup',
  {
    secret: Type.String({ description: 'Base32, for typing it in.' }),
    otpauthUrl: Type.String({ description: 'Content of the QR code.' }),
    qrCodeSvg: Type.String({ description: 'The QR code as SVG.' }),
  },
  {
    secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
    otpauthUrl: 'otpauth://totp/Matte:anna%40example.com?issuer=Matte&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
    qrCodeSvg: '<svg xmlns="http://www.w3.org/2000/svg"></svg>',
  },
)

const recoveryCode = '7K2M-9QXD-4TBE-W8HN-3FZC-6RYA'

export const recoveryCodesSchema = named(
  'RecoveryCodes',
  { recoveryCodes: Type.Array(Type.String(), { description: 'Ten, shown once; each works once.' }) },
  { recoveryCodes: [recoveryCode] },
)

export const twoFactorStateSchema = named('TwoFactorState', { mfaEnabled: Type.Boolean() })

export const passwordRequest = Type.Object(
  { password: passwordField },
  { examples: [{ password: 'correct horse battery staple' }] },
)

export const passwordAndCodeRequest = Type.Object(
  { password: passwordField, code: codeField },
  { examples: [{ password: 'correct horse battery staple', code: '492039' }] },
)

export const verifyRequest = Type.Object(
  { mfaToken: text(128, '`mfaToken` of the login.'), code: codeField, session: sessionField },
  { examples: [{ mfaToken: 'tq1aFwqZ0m6yS3y3pHn5lX0h3oYw4Kc0VZ4c3u1b2a8', code: '492039' }] },
)
