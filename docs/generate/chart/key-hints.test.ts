import { describe, expect, it } from 'vitest'
import { hintsOf, oneLetterFrom } from './key-hints.ts'

describe('oneLetterFrom', () => {
  const pattern = new RegExp(oneLetterFrom('address'))

  it.each(['adress', 'addresss', 'addrezs', 'daddress', 'Address', 'addrses'])('takes %s', (word) => {
    expect(word).toMatch(pattern)
  })

  it.each(['address', 'dress', 'addresses', 'addr'])('leaves %s', (word) => {
    expect(word).not.toMatch(pattern)
  })
})

describe('hintsOf', () => {
  it('hints at the pod values of a component', () => {
    const { properties } = hintsOf('api.', ['replicas', 'pod'], ['nodeSelector'])
    expect(properties.nodeSelector).toEqual({ const: 'no such value: write api.pod.nodeSelector' })
  })

  it('treats no known key as a misspelling of another', () => {
    const { patternProperties } = hintsOf('api.', ['portA', 'portB', 'name'], [])
    const refused = Object.keys(patternProperties).map((pattern) => new RegExp(pattern))
    for (const key of ['portA', 'portB', 'name']) expect(refused.some((one) => one.test(key))).toBe(false)
    expect(refused.some((one) => one.test('nam'))).toBe(true)
  })
})
