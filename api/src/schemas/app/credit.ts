import { Type } from 'typebox'
import { named } from '../schema.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })

export const balanceSchema = named('CreditBalance', {
  available: count('Can be spent now.'),
  held: count('Held for tasks that have not ended.'),
  total: count('Available and held.'),
  expiringSoon: Type.Object({ amount: count('Of the available ones, those that expire within 7 days.') }),
})
