import { expect, it } from 'vitest'
import { hashRecoveryCode, newRecoveryCodes } from './recovery-code.ts'

const { codes, hashes } = newRecoveryCodes()

it('creates ten different codes in groups of four', () => {
  expect(new Set(codes).size).toBe(10)
  for (const code of codes) expect(code).toMatch(/^([0-9A-HJKMNP-TV-Z]{4}-){5}[0-9A-HJKMNP-TV-Z]{4}$/)
})

it('a code is recognized in any spelling', () => {
  codes.forEach((code, index) => {
    const typed = [code, code.toLowerCase(), code.replaceAll('-', ''), ` ${code.replaceAll('-', ' ')} `]
    const misread = code.replaceAll('0', 'o').replaceAll('1', 'l')
    for (const text of [...typed, misread]) expect(hashRecoveryCode(text)).toEqual(hashes[index])
  })
})

it.each(['', '123456', 'ABCD-EFGH', `${codes[0]}0`, codes[0]?.replace(/^./, 'U')])(
  '%s does not have the form of a recovery code',
  (text) => expect(hashRecoveryCode(text ?? '')).toBeUndefined(),
)
