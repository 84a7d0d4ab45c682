import { describe, expect, it } from 'vitest'
import { readPreferences, readWaitSeconds } from './prefer.ts'

describe('readPreferences', () => {
  it.each([
    ['handling=strict', { handling: 'strict' }],
    ['wait=5, handling="strict"', { wait: '5', handling: 'strict' }],
    ['WAIT = 5;foo=1,respond-async', { wait: '5', 'respond-async': '' }],
    ['wait=1,wait=2', { wait: '1' }],
    [' , ,', {}],
    [undefined, {}],
  ])('%j', (header, preferences) => {
    expect(Object.fromEntries(readPreferences(header))).toEqual(preferences)
  })
})

describe('readWaitSeconds', () => {
  it.each([
    ['wait=5', 5],
    ['wait="7"', 7],
    ['wait=0', 0],
    ['handling=strict, wait=99999999999999999999', 1e20],
  ])('accepts %j', (header, seconds) => {
    expect(readWaitSeconds(header)).toBe(seconds)
  })

  it.each(['wait', 'wait=', 'wait=-1', 'wait=1.5', 'wait=soon', 'wait=0x10', 'await=5', undefined])(
    'ignores %j',
    (header) => {
      expect(readWaitSeconds(header)).toBeUndefined()
    },
  )
})
