import { expect, it } from 'vitest'
import { hashRecoveryCode, newRecoveryCodes } from './recovery-code.ts'

const { codes, hashes } = newRecoveryCodes()

it('ten codes in groups that are easy to read out, all different', () => {
  expect(new Set(codes).size).toBe(10)
  for (const code of codes) expect(code).toMatch(/^([0-9A-HJKMNP-TV-Z]{4}-){5}[0-9A-HJKMNP-TV-Z]{4}$/)
})

it('a code is known again however it was typed', () => {
  codes.forEach((code, index) => {
    const typed = [code, code.toLowerCase(), code.replaceAll('-', ''), ` ${code.replaceAll('-', ' ')} `]
    const misread = code.replaceAll('0', 'o').replaceAll('1', 'l')
    for (const text of [...typed, misread]) expect(hashRecoveryCode(text)).toEqual(hashes[index])
  })
})

it.each(['', '123456', 'ABCD-EFGH', `${codes[0]}0`, codes[0]?.replace(/^./, 'U')])(
  '%s has not the form of one',
  (text) => expect(hashRecoveryCode(text ?? '')).toBeUndefined(),
)
