import { expect, test } from 'vitest'
import { splitLink } from './link-values.ts'

test('a one-time code leaves the address', () => {
  const { values, address } = splitLink('https://matte.example/verify-email?token=a-b.c_d')
  expect(values).toEqual({ token: 'a-b.c_d' })
  expect(address).toBe('https://matte.example/verify-email')
})

test('other parameters stay', () => {
  const { values, address } = splitLink('https://matte.example/register?tab=x&ref=K7#top')
  expect(values).toEqual({ ref: 'K7' })
  expect(address).toBe('https://matte.example/register?tab=x#top')
})

test('an empty code counts as none', () => {
  expect(splitLink('https://matte.example/verify-email?token=').values).toEqual({})
})
