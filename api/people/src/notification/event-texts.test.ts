import { expect, it } from 'vitest'
import { defaultLocale } from '../mail/person-format.ts'
import { describeEvent } from './event-texts.ts'

it('a scheduled change is not described as the current plan', () => {
  const message = 'The subscription changes to pro by the month.'
  expect(describeEvent('subscription.updated', { plan: 'pro', message }, defaultLocale).body).toBe(message)
  expect(describeEvent('subscription.updated', { plan: 'pro' }, defaultLocale).body).toBe('Your plan is now pro.')
})
