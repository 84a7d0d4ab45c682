import { expect, it } from 'vitest'
import { parseMasterKeys } from './seal.ts'

const key = (byte: number): string => Buffer.alloc(32, byte).toString('base64')

it('reads keys in order, by commas or lines', () => {
  expect([...parseMasterKeys(`new:${key(1)},\nold:${key(2)}\n`).keys()]).toEqual(['new', 'old'])
})

it('refuses an id that occurs twice, because the first key would be lost', () => {
  expect(() => parseMasterKeys(`a:${key(1)},b:${key(2)},a:${key(3)}`)).toThrow('must have each id once; a occurs twice')
})
