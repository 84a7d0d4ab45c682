import { describe, expect, it } from 'vitest'
import { defaultLicencePolicy, judgeLicences, parseLicencePolicy } from './licence-policy.ts'

const own = parseLicencePolicy('Apache-2.0, MIT')

describe('judgeLicences', () => {
  it.each([
    ['MIT', undefined],
    ['ISC', 'model m is licensed under ISC, and only these are allowed: Apache-2.0, MIT'],
    ['mit', 'licensed under mit'],
    ['MIT AND Apache-2.0', undefined],
    ['MIT AND ISC', 'licensed under MIT AND ISC'],
    ['ISC OR MIT', undefined],
    ['ISC AND MIT OR GPL-3.0-only', 'licensed under ISC AND MIT OR GPL-3.0-only'],
    ['GPL-3.0-only OR MIT AND Apache-2.0', undefined],
  ])('checks %s', (licence, message) => {
    expect(judgeLicences(own, 'm', [licence])?.message).toEqual(message && expect.stringContaining(message))
  })

  it('requires every stated licence to be accepted', () => {
    expect(judgeLicences(own, 'm', [undefined, 'MIT'])).toBeUndefined()
    expect(judgeLicences(own, 'm', ['MIT', 'AGPL-3.0-only'])).toBeInstanceOf(Error)
    expect(judgeLicences(own, 'm', ['AGPL-3.0-only', 'MIT'])).toBeInstanceOf(Error)
  })

  it('rejects an unknown licence if a list is set, and accepts it by default', () => {
    expect(judgeLicences(own, 'm', [undefined])?.message).toContain('states no licence')
    expect(judgeLicences(defaultLicencePolicy, 'm', [undefined])).toBeUndefined()
  })

  it('rejects non-permissive licences by default, and none with *', () => {
    expect(judgeLicences(defaultLicencePolicy, 'm', ['CC-BY-NC-4.0'])).toBeInstanceOf(Error)
    expect(judgeLicences(parseLicencePolicy('*'), 'm', ['CC-BY-NC-4.0'])).toBeUndefined()
    expect(judgeLicences(parseLicencePolicy('*'), 'm', [])).toBeUndefined()
  })
})

describe('parseLicencePolicy', () => {
  it.each(['', 'MIT,', 'MIT;ISC', 'MIT OR ISC', '*,MIT'])('rejects %j', (text) => {
    expect(() => parseLicencePolicy(text)).toThrow('SPDX identifiers joined by commas')
  })
})
