import { expect, test } from 'vitest'
import { explainPassword } from './password-field.tsx'

test('the reason for a refused password follows its length', () => {
  expect(explainPassword('short')).toBe('tooShort')
  expect(explainPassword('ä'.repeat(11))).toBe('tooShort')
  expect(explainPassword('x'.repeat(129))).toBe('tooLong')
  expect(explainPassword('password1234')).toBe('tooEasy')
})
