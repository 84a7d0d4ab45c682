import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { verifyWebhook, type WebhookHeaders } from './verify-webhook.ts'

// Published by the Standard Webhooks libraries; X-Service-Signature of the same body was made with
// `openssl dgst -sha256 -hmac`.
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const body = '{"test": 2432232314}'
const service = {
  'X-Service-Signature': 't=1614265330,v1=2e37df5d4a028c51a7f3133d64ae1e300d2c2c900f1b1d49d4369ad2530f8964',
}
const standard = {
  'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  'webhook-timestamp': '1614265330',
  'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
}
const at = (seconds: number) => ({ now: () => (1_614_265_330 + seconds) * 1_000 })
const refused = { code: 'CLIENT_SIGNATURE', retryable: false }

describe('verifyWebhook', () => {
  it.each<[string, WebhookHeaders]>([
    ['X-Service-Signature', service],
    ['Standard Webhooks', standard],
    ['both', { ...service, ...standard }],
    ['Headers', new Headers(service)],
    ['names in other case', { 'x-SERVICE-signature': service['X-Service-Signature'] }],
  ])('returns the event of a request signed by %s', async (_name, headers) => {
    expect(await verifyWebhook(body, headers, secret, at(0))).toEqual({ test: 2_432_232_314 })
    expect(await verifyWebhook(new TextEncoder().encode(body), headers, secret, at(0))).toBeTruthy()
    expect(await verifyWebhook(Buffer.from(body), headers, [secret], at(0))).toBeTruthy()
  })

  it.each([
    [-300, true],
    [300, true],
    [-301, false],
    [301, false],
  ])('judges a signature by a clock that differs by %s s', async (seconds, accepted) => {
    const verifying = verifyWebhook(body, service, secret, at(seconds))
    if (accepted) expect(await verifying).toBeTruthy()
    else await expect(verifying).rejects.toMatchObject({ ...refused, message: expect.stringMatching(/clock/) })
  })

  it('takes the tolerance of the caller', async () => {
    expect(await verifyWebhook(body, service, secret, { ...at(500), toleranceSeconds: 600 })).toBeTruthy()
    const strict = verifyWebhook(body, service, secret, { ...at(5), toleranceSeconds: 4 })
    await expect(strict).rejects.toMatchObject(refused)
  })

  it.each<[string, WebhookHeaders]>([
    ['no signature', {}],
    ['two pairs', { 'X-Service-Signature': `${service['X-Service-Signature']},v1=00` }],
    ['capital hex', { 'X-Service-Signature': service['X-Service-Signature'].toUpperCase() }],
    ['half a byte', { 'X-Service-Signature': service['X-Service-Signature'].slice(0, -1) }],
    ['another signature', { 'X-Service-Signature': service['X-Service-Signature'].replace(/4$/, '5') }],
    ['another time', { 'X-Service-Signature': service['X-Service-Signature'].replace('330', '331') }],
    ['another id', { ...standard, 'webhook-id': 'msg_2' }],
    ['no id', { ...standard, 'webhook-id': '' }],
    ['base64 that is none', { ...standard, 'webhook-signature': 'v1,%%%' }],
    ['another version', { ...standard, 'webhook-signature': standard['webhook-signature'].replace('v1', 'v2') }],
  ])('refuses %s', async (_name, headers) => {
    await expect(verifyWebhook(body, headers, secret, at(0))).rejects.toMatchObject(refused)
  })

  it('refuses another body and another secret', async () => {
    await expect(verifyWebhook(`${body} `, service, secret, at(0))).rejects.toMatchObject(refused)
    await expect(verifyWebhook(body, service, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx', at(0))).rejects.toMatchObject(
      refused,
    )
  })

  it('keys X-Service-Signature by the whole secret, and the standard headers by its base64 part', async () => {
    const wrongKey = createHmac('sha256', Buffer.from(secret.slice(6), 'base64')).update(`1614265330.${body}`)
    const header = { 'X-Service-Signature': `t=1614265330,v1=${wrongKey.digest('hex')}` }
    await expect(verifyWebhook(body, header, secret, at(0))).rejects.toMatchObject(refused)
  })

  it('accepts either secret during a rotation, by one of two signatures', async () => {
    const other = 'whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ='
    const both = { ...standard, 'webhook-signature': `v1,AAAA ${standard['webhook-signature']}` }
    expect(await verifyWebhook(body, both, [other, secret], at(0))).toBeTruthy()
    // X-Service-Signature is by the old secret, which this receiver no longer has.
    const old = { 'X-Service-Signature': 't=1614265330,v1=00' }
    expect(await verifyWebhook(body, { ...old, ...both }, secret, at(0))).toBeTruthy()
  })

  it('says to pass raw bytes when it gets a parsed object', async () => {
    const verifying = verifyWebhook(JSON.parse(body), service, secret, at(0))
    await expect(verifying).rejects.toMatchObject({ ...refused, message: expect.stringMatching(/raw bytes/) })
  })

  it.each(['', [], undefined])('refuses to verify without a secret: %j', async (none) => {
    const verifying = verifyWebhook(body, service, none, at(0))
    await expect(verifying).rejects.toMatchObject({ code: 'CLIENT_CONFIG' })
  })
})
