import { passwordLength } from '@matte/people/identity/password/new-password'
import { type Proof, proofMinutes } from '@matte/people/identity/session/session-proof'
import type { ListedSession } from '@matte/people/identity/session/session-queries'
import { type Static, Type } from 'typebox'
import { patterns } from '../../patterns.ts'
import { count, named, nullable, oneOf, refer, time, uuid, withDefault } from '../schema.ts'
import { optionalCode, passwordField, proofCode, sessionField } from './two-factor.ts'
import { profileSchema } from './user.ts'

const example = { accessToken: 'eyJ…', refreshToken: 'refresh_…', tokenType: 'Bearer', expiresIn: 900 }

export const tokensSchema = named(
  'Tokens',
  {
    accessToken: Type.String({ description: 'For `Authorization: Bearer`.', examples: [example.accessToken] }),
    refreshToken: Type.Optional(
      Type.String({
        description: 'Works once, for the next pair. Absent in a cookie session.',
        examples: [example.refreshToken],
      }),
    ),
    tokenType: oneOf(['Bearer']),
    expiresIn: Type.Integer({
      description: 'Seconds until the access token expires.',
      examples: [example.expiresIn],
    }),
  },
  example,
)

export const emailChangeRequest = Type.Object(
  {
    newEmail: Type.String({ minLength: 3, maxLength: 254, pattern: patterns.email }),
    password: passwordField,
    code: optionalCode,
  },
  { examples: [{ newEmail: 'anna@example.org', password: 'correct horse battery staple', code: '492039' }] },
)

export const emailConfirmRequest = Type.Object(
  { token: Type.String({ minLength: 1, maxLength: 128, description: 'From the link in the mail.' }) },
  { examples: [{ token: 'b2pZlq0qSx5nU6Zc8m5x1o9V1w3YyJr3k0dXc7T2eQ4' }] },
)

export const emailChangeSchema = named('EmailChange', {
  status: oneOf(['confirmation_sent'], { description: 'Also returned if the address has an account.' }),
})

export const confirmedEmailSchema = named('ConfirmedEmail', { email: Type.String() }, { email: 'anna@example.org' })

const email = Type.String({ minLength: 3, maxLength: 254, pattern: patterns.email })
/** No minimum beyond 1: the length must not reveal why a login fails. */
const password = Type.String({ minLength: 1, maxLength: passwordLength.max })
const newPassword = Type.String({
  minLength: passwordLength.min,
  maxLength: passwordLength.max,
  description: 'Any characters. Refused if it is common, or built from a common password or your address.',
})
const token = Type.String({ minLength: 1, maxLength: 200, description: 'From the link in the mail.' })
const refreshToken = (description: string) =>
  Type.Optional(nullable(Type.String({ minLength: 1, maxLength: 200, description })))
const optionalText = (maxLength: number, description: string) =>
  Type.Optional(nullable(Type.String({ maxLength, pattern: patterns.storable, description })))

const exampleEmail = 'jane@example.com'
const examplePassword = 'violet tractor under moss'

export const registerRequest = Type.Object(
  {
    email,
    password: newPassword,
    name: optionalText(200, 'What to call you.'),
    referralCode: optionalText(64, 'Referral code of the person who invited you.'),
    locale: optionalText(35, 'BCP 47, the language of mails. Absent: the preferred one of `Accept-Language`.'),
  },
  { examples: [{ email: exampleEmail, password: examplePassword, name: 'Jane Roe', locale: 'en-GB' }] },
)
export const emailRequest = Type.Object({ email }, { examples: [{ email: exampleEmail }] })
export const loginRequest = Type.Object(
  { email, password, session: sessionField },
  { examples: [{ email: exampleEmail, password: examplePassword }] },
)
export const verifyEmailRequest = Type.Object(
  { token, password, session: sessionField },
  { examples: [{ token: 'c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTE', password: examplePassword }] },
)
export const refreshRequest = Type.Object(
  { refreshToken: refreshToken('Absent: that of the cookie session.') },
  { examples: [{ refreshToken: 'refresh_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ' }] },
)
export const logoutRequest = Type.Object(
  { refreshToken: refreshToken('Absent: that of the cookie session, if there is one.') },
  { examples: [{ refreshToken: 'refresh_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ' }] },
)
export const switchRequest = Type.Object({ session: sessionField }, { examples: [{ session: 'token' }] })
export const resetRequest = Type.Object(
  { token, newPassword },
  { examples: [{ token: 'c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTE', newPassword: examplePassword }] },
)
export const changePasswordRequest = Type.Object(
  {
    currentPassword: password,
    newPassword,
    endOtherSessions: withDefault(
      nullable(Type.Boolean({ description: 'True: ends sessions opened with the previous password.' })),
      true,
    ),
  },
  { examples: [{ currentPassword: 'amber kettle over slate', newPassword: examplePassword, endOtherSessions: true }] },
)

export const verificationSentSchema = named('VerificationSent', {
  status: oneOf(['verification_sent'], { description: 'If there is something to verify, a mail is on its way.' }),
})
export const resetSentSchema = named('ResetSent', {
  status: oneOf(['reset_sent'], { description: 'If the address has an account, a mail is on its way.' }),
})
export const passwordChangedSchema = named('PasswordChanged', { status: oneOf(['password_changed']) })
export const signedOutSchema = named('SignedOut', {
  status: oneOf(['signed_out']),
  endedSessions: count('Number of ended sessions.'),
})

export const signedInSchema = named('SignedIn', {
  ...tokensSchema.properties,
  user: refer(profileSchema),
})
export const secondFactorAskedSchema = named('SecondFactorAsked', {
  mfaRequired: Type.Unsafe<true>({ type: 'boolean', enum: [true] }),
  mfaToken: Type.String({ description: 'For `verifyTwoFactor`, with a code.' }),
})

export const sessionSchema = named(
  'Session',
  {
    id: uuid(),
    createdAt: time(),
    lastUsedAt: time('Last sign-in or refresh.'),
    ipAddress: nullable(Type.String({ description: 'Client address at sign-in.' })),
    userAgent: nullable(Type.String()),
    current: Type.Boolean({ description: 'The session of this request.' }),
  },
  {
    id: '6f1a5f0e-0a53-4c6e-8a0e-2f4f7a1f9a11',
    createdAt: '2026-11-21T09:30:00.000Z',
    lastUsedAt: '2026-11-21T10:00:00.000Z',
    ipAddress: '203.0.113.7',
    userAgent: 'Mozilla/5.0',
    current: true,
  },
)

export const proofRequest = Type.Object(
  { password: Type.Optional(nullable(passwordField)), code: proofCode },
  {
    description: 'Either `password` or `code`.',
    examples: [{ password: 'correct horse battery staple' }],
  },
)

export const proofSchema = named(
  'Proof',
  {
    method: oneOf(['password', 'totp', 'recovery_code'], { description: 'More may follow.' }),
    provedAt: time(),
    expiresAt: time(`${proofMinutes} minutes later.`),
  },
  { method: 'password', provedAt: '2026-11-21T09:30:00.000Z', expiresAt: '2026-11-21T09:40:00.000Z' },
)

export const toProofView = ({ method, provedAt, expiresAt }: Proof): Static<typeof proofSchema> => ({
  method,
  provedAt: provedAt.toISOString(),
  expiresAt: expiresAt.toISOString(),
})

export const toSessionView = (session: ListedSession, currentId: string): Static<typeof sessionSchema> => ({
  id: session.id,
  createdAt: session.created_at.toISOString(),
  lastUsedAt: session.last_used_at.toISOString(),
  ipAddress: session.ip_address,
  userAgent: session.user_agent,
  current: session.id === currentId,
})
