import { describe, expect, it } from 'vitest'
import { fileLinkSigner } from './file-link.ts'

const [a, b] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const signer = fileLinkSigner(new Map([['a', a]]))
const objectKey = 'results/2026/11/id/1-claim.png'
const expires = 2_000_000_000
const holder = 'key.1'

function parse(link: string) {
  const url = new URL(link, 'http://host/')
  return { path: decodeURIComponent(url.pathname.slice(1)), query: Object.fromEntries(url.searchParams) }
}
const { path, query } = parse(signer.sign(objectKey, { expires, holder }))

describe('a file link', () => {
  it('is valid until it expires, the last second included', () => {
    expect(path).toBe(objectKey)
    expect(signer.verify(objectKey, query, expires - 604_800)).toEqual({ holder })
    expect(signer.verify(objectKey, query, expires)).toEqual({ holder })
    expect(signer.verify(objectKey, query, expires + 1)).toBe('expired')
  })

  it.each([
    ['another object', 'results/2026/11/id/2-claim.png', {}],
    ['a later expiry', objectKey, { expires: String(expires + 1) }],
    ['another holder', objectKey, { for: 'key.2' }],
    ['no holder, as in links of an earlier build', objectKey, { for: undefined }],
    ['an expiry that reads the same', objectKey, { expires: `0${expires}` }],
    ['another signature', objectKey, { signature: query.signature?.replace(/^./, (c) => (c === 'A' ? 'B' : 'A')) }],
    ['half a signature', objectKey, { signature: query.signature?.slice(0, 20) }],
    ['no signature', objectKey, { signature: undefined }],
    ['two signatures', objectKey, { signature: [query.signature, query.signature] }],
    ['an unknown key', objectKey, { key: 'b' }],
    ['no key', objectKey, { key: undefined }],
  ])('with %s is forged', (_what, key, change) => {
    expect(signer.verify(key, { ...query, ...change }, expires - 1)).toBe('forged')
  })

  it('survives a rotation while the old master key is configured', () => {
    const rotated = fileLinkSigner(
      new Map([
        ['b', b],
        ['a', a],
      ]),
    )
    expect(rotated.verify(objectKey, query, expires)).toEqual({ holder })
    expect(parse(rotated.sign(objectKey, { expires, holder })).query.key).toBe('b')
    expect(fileLinkSigner(new Map([['b', b]])).verify(objectKey, query, expires)).toBe('forged')
    expect(fileLinkSigner(new Map([['a', b]])).verify(objectKey, query, expires)).toBe('forged')
  })
})
