import { describe, expect, it } from 'vitest'
import { fileLinkSigner } from './file-link.ts'
import { uploadLinkSigner } from './upload-link.ts'

const keys = new Map([['a', Buffer.alloc(32, 1)]])
const signer = uploadLinkSigner(keys)
const put = { objectKey: 'private-uploads/2026/11/id-cat.png', contentType: 'image/png' }
const expires = 2_000_000_000
const link = signer.sign({ ...put, maxBytes: 1_000 }, expires)
const query = Object.fromEntries(new URL(link, 'http://host/').searchParams)

describe('an upload link', () => {
  it('grants its bytes until it expires, the last second included', () => {
    expect(link).toMatch(/^private-uploads\/2026\/11\/id-cat\.png\?maxBytes=1000&expires=2000000000&key=a&signature=/)
    expect(signer.verify(put, query, expires)).toEqual({ verdict: 'valid', maxBytes: 1_000 })
    expect(signer.verify(put, query, expires + 1)).toMatchObject({ verdict: 'expired' })
  })

  it.each([
    ['another object', { objectKey: 'private-uploads/2026/11/id-dog.png' }, {}],
    ['another type', { contentType: 'text/html' }, {}],
    ['more bytes', {}, { maxBytes: '1001' }],
    ['no number of bytes', {}, { maxBytes: 'all' }],
    ['two numbers of bytes', {}, { maxBytes: ['1000', '5000000000'] }],
    ['a later expiry', {}, { expires: String(expires + 1) }],
    ['no signature', {}, { signature: undefined }],
  ])('with %s is forged', (_what, otherPut, otherQuery) => {
    const { verdict } = signer.verify({ ...put, ...otherPut }, { ...query, ...otherQuery }, expires)
    expect(verdict).toBe('forged')
  })

  it('is no link to a file, and the other way round', () => {
    expect(fileLinkSigner(keys).verify(put.objectKey, query, expires)).toBe('forged')
    const file = new URL(fileLinkSigner(keys).sign(put.objectKey, { expires, holder: 'key.1' }), 'http://host/')
    expect(signer.verify(put, Object.fromEntries(file.searchParams), expires)).toMatchObject({ verdict: 'forged' })
  })
})
