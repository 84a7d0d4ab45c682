import { describe, expect, it } from 'vitest'
import { echoMask } from './echoes.ts'

/** Has each character that an encoding writes in another way. */
const value = 'Bearer s3cr+t/k\\y="x y~z"'
const mask = echoMask({ Authorization: value, 'X-Short': '1234567' })

describe('a value that a receiver repeats is masked', () => {
  it.each([
    ['as it is', value],
    ['in JSON', JSON.stringify(value).slice(1, -1)],
    ['in JSON with escaped slashes', JSON.stringify(value).slice(1, -1).replaceAll('/', '\\/')],
    ['in JSON with escapes by number', JSON.stringify(value).slice(1, -1).replaceAll('+', '\\u002B')],
    ['in a URL', encodeURIComponent(value)],
    ['in a URL that keeps reserved characters', encodeURI(value)],
    ['in a URL, in lower case', encodeURIComponent(value).replaceAll('%2F', '%2f')],
    ['in a URL, each character', Array.from(Buffer.from(value), (byte) => `%${byte.toString(16)}`).join('')],
    ['in a form', new URLSearchParams({ a: value }).toString().slice(2)],
  ])('%s', (_what, echo) => {
    expect(mask(`<${echo}>, "${echo}`)).toBe('<••••>, "••••')
  })

  it.each(['', '1', '12', '123'])('in base64 behind %j', (before) => {
    for (const after of ['', 'a', 'bc', 'def']) {
      const text = Buffer.from(`${before}${value}${after}`).toString('base64')
      for (const echo of [
        text,
        Buffer.from(`${before}${value}${after}`).toString('base64url'),
        encodeURIComponent(text),
        text.replaceAll('/', '\\/'),
      ]) {
        const [left = '', right = '', ...more] = mask(echo).split('••••')
        expect(more).toEqual([])
        // Only digits without a bit of the value are left.
        expect(left.length).toBeLessThanOrEqual(Math.floor((before.length * 8) / 6))
        expect(right.replace(/(=|%3D)+$/, '').length).toBeLessThanOrEqual(Math.ceil((after.length * 8) / 6))
      }
    }
  })

  it('wholly, if it begins with another one', () => {
    const both = echoMask({ 'X-A': 'shared-part', 'X-B': 'shared-part-and-more' })
    expect(both('shared-part-and-more, shared-part')).toBe('••••, ••••')
  })
})

it('a text without a value is left as it is', () => {
  const text = '{"n":"1234567","a":"%2F+\\u0041","b":"QmVhcmVyIHMzY3I="}'
  expect(mask(text)).toBe(text)
  expect(echoMask({})(text)).toBe(text)
})
