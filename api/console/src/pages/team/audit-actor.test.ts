import { expect, it } from 'vitest'
import { actorOf } from './audit-actor.ts'
import { teamText } from './team-text.ts'

it.each([
  ['member', 'Ada', 'Ada'],
  ['member', null, 'Deleted account'],
  ['api-key', 'Robot', 'Robot (API key)'],
  ['api-key', null, 'API key'],
  ['operator', null, 'Operator'],
  ['matte-admin', null, 'Operator'],
  ['system', null, 'Matte, automatically'],
  ['of-a-later-release', null, 'of-a-later-release'],
])('a %s named %s is shown as %s', (actorKind, actorName, shown) => {
  expect(actorOf(teamText.en.audit, { actorKind, actorName })).toBe(shown)
})
