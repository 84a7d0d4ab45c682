import { Type } from 'typebox'
import { patterns } from '../patterns.ts'
import { named, oneOf } from '../schema.ts'
import { optionalCode, passwordField } from './two-factor.ts'

export const emailChangeRequest = Type.Object(
  {
    newEmail: Type.String({ minLength: 3, maxLength: 254, pattern: patterns.email }),
    password: passwordField,
    code: optionalCode,
  },
  { examples: [{ newEmail: 'anna@example.org', password: 'correct horse battery staple', code: '492039' }] },
)

export const emailConfirmRequest = Type.Object(
  { token: Type.String({ minLength: 1, maxLength: 128, description: 'Of the link in the mail.' }) },
  { examples: [{ token: 'b2pZlq0qSx5nU6Zc8m5x1o9V1w3YyJr3k0dXc7T2eQ4' }] },
)

export const emailChangeSchema = named('EmailChange', {
  status: oneOf(['confirmation_sent'], { description: 'Said also where the address belongs to somebody.' }),
})

export const confirmedEmailSchema = named(
  'ConfirmedEmail',
  { email: Type.String() },
  { examples: [{ email: 'anna@example.org' }] },
)
