import { expect, it } from 'vitest'
import { defaultPlace } from '../mail/person-format.ts'
import { describeEvent } from './event-texts.ts'

it('a change that comes with the next period is not told as the plan that there is', () => {
  const message = 'The subscription changes to pro by the month.'
  expect(describeEvent('subscription.updated', { plan: 'pro', message }, defaultPlace).body).toBe(message)
  expect(describeEvent('subscription.updated', { plan: 'pro' }, defaultPlace).body).toBe('The subscription is to pro.')
})
