import { describe, expect, it } from 'vitest'
import { isCommonPassword } from './new-password.ts'

describe('isCommonPassword', () => {
  it.each([
    ...[
      '1q2w3e4r5t6y',
      '1Q2W3E4R5T6Y',
      'leavemealone',
      'password1234',
      'Password1234!',
      'P@ssw0rd1234',
      '2024password!',
    ],
    ...['passwordpassword', 'aaaaaaaaaaaa', 'abcabcabcabc', 'abcdefghijkl', '123456789012', '987654321098'],
    ...['iloveyoumonkey', 'dragon123456', 'd r a g o n 1 2 3 4', 'qwerty!!!!!!'],
  ])('%s is common', (password) => {
    expect(isCommonPassword(password)).toBe(true)
  })

  it.each([
    ...['correct horse battery', 'dragon-83749203847', 'wegen-Regen-7-Segen', 'kxq8wz4mvplt', 'Übermut tut selten gut'],
    ...['密码不是很容易猜到的吧真的', '🦊🐻🐼🐨🐯🦁🐮🐷🐸🐵🐔🐧'],
  ])('%s is not common', (password) => {
    expect(isCommonPassword(password)).toBe(false)
  })

  it("includes passwords built from the owner's address or name", () => {
    const own = ['Jane.Roe@example.com', 'Jane Roebuck']
    expect(isCommonPassword('jane.roe@example.com', own)).toBe(true)
    expect(isCommonPassword('Jane.Roe2024', own)).toBe(true)
    expect(isCommonPassword('JaneRoebuck!', own)).toBe(true)
    expect(isCommonPassword('jane.roe-likes-figs', own)).toBe(false)
    expect(isCommonPassword('Jane.Roe2024')).toBe(false)
  })

  it('checks a hundred long passwords quickly', () => {
    const longest = Array.from({ length: 100 }, (_, i) => `${i}-`.padEnd(64, '1').padEnd(128, 'x7'))
    expect(longest.filter((password) => isCommonPassword(password))).toEqual([])
  })
})
