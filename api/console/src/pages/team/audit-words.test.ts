import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { auditWords, wordsOf } from './audit-words.ts'

/** No caller is known before these, so no log has them; operators have no log of a workspace. */
const unlogged = new Set([
  ...['register', 'resendVerification', 'verifyEmail', 'logIn', 'verifyTwoFactor', 'refreshTokens'],
  ...['forgotPassword', 'receiveProviderEvent', 'beginOperatorSession', 'endOperatorSession'],
])

it('every change through the App API has words', () => {
  const client = dirname(createRequire(import.meta.url).resolve('matte-client/app'))
  const types = readFileSync(join(client, '../generated/app.ts'), 'utf8')
  const changes = [...types.matchAll(/^\s+(?:post|put|patch|delete): operations\["(\w+)"\]/gm)].map(([, id = '']) => id)
  expect(changes.length).toBeGreaterThan(50)
  expect(changes.filter((id) => !unlogged.has(id) && wordsOf(auditWords.en, id) === undefined)).toEqual([])
})

it('an unknown action has none', () => {
  expect(wordsOf(auditWords.de, 'toString')).toBeUndefined()
})

it('an operation of the Developer API has the words of its like', () => {
  expect(wordsOf(auditWords.en, 'deleteWebhook')).toBe('Webhook endpoint removed')
  expect(wordsOf(auditWords.de, 'legacyCancelTask')).toBe('Aufgabe abgebrochen')
})
