import { expect, it } from 'vitest'
import { serviceSignature, signatureHeaders } from './signature.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const body = '{"test": 2432232314}'
const timestamp = 1_614_265_330

// The first was made with `openssl dgst -sha256 -hmac`; the last is the example of the Standard Webhooks libraries.
const header = 't=1614265330,v1=2e37df5d4a028c51a7f3133d64ae1e300d2c2c900f1b1d49d4369ad2530f8964'

it('signs with the whole secret, and by Standard Webhooks', () => {
  expect(signatureHeaders({ secret, id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp, body })).toEqual({
    'X-Service-Signature': header,
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

it('signs X-Service-Signature with the previous secret, and webhook-signature with both, during an overlap', () => {
  const previousSecret = 'whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ='
  const common = { id: 'msg', timestamp, body }
  const both = signatureHeaders({ ...common, secret, previousSecret })
  const standard = (each: string) => signatureHeaders({ ...common, secret: each })['webhook-signature']
  expect(both['X-Service-Signature']).toBe(serviceSignature(previousSecret, timestamp, body))
  expect(both['webhook-signature']).toBe(`${standard(secret)} ${standard(previousSecret)}`)
})
