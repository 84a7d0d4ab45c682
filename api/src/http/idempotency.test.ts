import { describe, expect, it } from 'vitest'
import { canonicalJson } from './idempotency.ts'

describe('canonicalJson', () => {
  it('is the same for equivalent bodies', () => {
    const one = canonicalJson({ b: [{ y: 1, x: 2 }], a: 'ä', c: null, output: { crop: null, format: 'png' } })
    expect(one).toBe(canonicalJson({ output: { format: 'png' }, a: 'ä', b: [{ x: 2, y: 1 }] }))
    expect(one).toBe('{"a":"ä","b":[{"x":2,"y":1}],"output":{"format":"png"}}')
  })

  it('differs for different bodies', () => {
    const texts = [{ a: 1 }, { a: '1' }, { a: [1, 2] }, { a: [2, 1] }, { b: 1 }, null, {}].map(canonicalJson)
    expect(new Set(texts).size).toBe(texts.length)
  })
})
