import { serviceSignature } from '@matte/core/webhook/signature'
import { describe, expect, it } from 'vitest'
import { verifySignature } from './verify-signature.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const body = '{"test": 2432232314}'
const timestamp = 1_614_265_330

const header = 't=1614265330,v1=2e37df5d4a028c51a7f3133d64ae1e300d2c2c900f1b1d49d4369ad2530f8964'

describe('verifySignature', () => {
  it('accepts a signed body, also with characters beyond ASCII', () => {
    expect(verifySignature(header, body, secret)).toBe(true)
    expect(verifySignature(serviceSignature(secret, 1, '{"ü":"–"}'), '{"ü":"–"}', secret)).toBe(true)
  })

  it.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['upper-case hex', header.toUpperCase().replace('T=', 't=').replace('V1=', 'v1=')],
    ['a second pair', `${header},v1=00`],
    ['a blank', header.replace(',', ', ')],
    ['a shorter signature', header.slice(0, -2)],
    ['a longer signature', `${header}00`],
    ['another time', header.replace('t=1614265330', 't=1614265331')],
    ['a time that is no number', header.replace('t=1614265330', 't=x')],
    ['another signature', header.slice(0, -1) + (header.endsWith('0') ? '1' : '0')],
  ])('rejects %s', (_what, wrong) => {
    expect(verifySignature(wrong, body, secret)).toBe(false)
  })

  it('rejects another body and another secret', () => {
    expect(verifySignature(header, `${body} `, secret)).toBe(false)
    expect(verifySignature(header, body, secret.slice('whsec_'.length))).toBe(false)
  })

  it('rejects a time too far in past or future if asked to check it', () => {
    const at = (nowSeconds: number) => verifySignature(header, body, secret, { nowSeconds })
    expect([-301, -300, 300, 301].map((distance) => at(timestamp + distance))).toEqual([false, true, true, false])
  })
})
