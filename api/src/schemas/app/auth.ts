import { passwordLength } from '@matte/core/identity/password/new-password'
import { Type } from 'typebox'
import { patterns } from '../patterns.ts'
import { named, nullable, oneOf, refer, withDefault } from '../schema.ts'
import { tokensSchema } from './tokens.ts'
import { profileSchema } from './user.ts'

const time = () => Type.String({ format: 'date-time' })

const email = Type.String({ minLength: 3, maxLength: 254, pattern: patterns.email })
/** Any length up to the longest: whether a password is wrong is not said by its form. */
const password = Type.String({ minLength: 1, maxLength: passwordLength.max })
const newPassword = Type.String({
  minLength: passwordLength.min,
  maxLength: passwordLength.max,
  description: 'Any characters. Refused if it is one that many people use, or is made of one or of your address.',
})
const token = Type.String({ minLength: 1, maxLength: 200, description: 'From the link in the mail.' })
const refreshToken = Type.String({ minLength: 1, maxLength: 200 })
const optionalText = (maxLength: number, description: string) =>
  Type.Optional(nullable(Type.String({ maxLength, pattern: patterns.storable, description })))

const exampleEmail = 'jane@example.com'
const examplePassword = 'violet tractor under moss'

export const registerRequest = Type.Object(
  {
    email,
    password: newPassword,
    name: optionalText(200, 'What to call you.'),
    referralCode: optionalText(64, 'Of whoever invited you.'),
  },
  { examples: [{ email: exampleEmail, password: examplePassword, name: 'Jane Roe' }] },
)
export const emailRequest = Type.Object({ email }, { examples: [{ email: exampleEmail }] })
export const loginRequest = Type.Object(
  { email, password },
  { examples: [{ email: exampleEmail, password: examplePassword }] },
)
export const verifyEmailRequest = Type.Object(
  { token, password },
  { examples: [{ token: 'c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTE', password: examplePassword }] },
)
export const refreshRequest = Type.Object(
  { refreshToken },
  { examples: [{ refreshToken: 'refresh_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ' }] },
)
export const logoutRequest = Type.Object(
  { refreshToken: Type.Optional(nullable(refreshToken)) },
  { examples: [{ refreshToken: 'refresh_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ' }] },
)
export const resetRequest = Type.Object(
  { token, newPassword },
  { examples: [{ token: 'c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTE', newPassword: examplePassword }] },
)
export const changePasswordRequest = Type.Object(
  {
    currentPassword: password,
    newPassword,
    endOtherSessions: withDefault(
      nullable(Type.Boolean({ description: 'True: a session that the former password opened ends.' })),
      true,
    ),
  },
  { examples: [{ currentPassword: 'amber kettle over slate', newPassword: examplePassword, endOtherSessions: true }] },
)

/** Said whether the address has an account or not. */
export const verificationSentSchema = named('VerificationSent', {
  status: oneOf(['verification_sent'], { description: 'If there is something to verify, a mail is on its way.' }),
})
export const resetSentSchema = named('ResetSent', {
  status: oneOf(['reset_sent'], { description: 'If the address has an account, a mail is on its way.' }),
})
export const passwordChangedSchema = named('PasswordChanged', { status: oneOf(['password_changed']) })
export const signedOutSchema = named('SignedOut', {
  status: oneOf(['signed_out']),
  endedSessions: Type.Integer({ minimum: 0, description: 'Sessions that this ended.' }),
})

/** Tokens, and whose they are. */
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
    id: Type.String({ format: 'uuid' }),
    createdAt: time(),
    lastUsedAt: { ...time(), description: 'Last sign-in or refresh.' },
    ipAddress: nullable(Type.String({ description: 'Where it began.' })),
    userAgent: nullable(Type.String()),
    current: Type.Boolean({ description: 'The one that this request belongs to.' }),
  },
  {
    examples: [
      {
        id: '6f1a5f0e-0a53-4c6e-8a0e-2f4f7a1f9a11',
        createdAt: '2026-11-21T09:30:00.000Z',
        lastUsedAt: '2026-11-21T10:00:00.000Z',
        ipAddress: '203.0.113.7',
        userAgent: 'Mozilla/5.0',
        current: true,
      },
    ],
  },
)

/** All of this file that have a name, for the document. */
export const authSchemas = [
  verificationSentSchema,
  resetSentSchema,
  passwordChangedSchema,
  signedOutSchema,
  signedInSchema,
  secondFactorAskedSchema,
  sessionSchema,
]
