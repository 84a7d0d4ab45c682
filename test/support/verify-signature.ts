// What a receiver of webhooks does with `X-Service-Signature`.
import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * True when `header` is a right `X-Service-Signature` of `body`. Compared in constant time, after the byte lengths.
 * A receiver passes `nowSeconds` as well, so that an old request is refused: `toleranceSeconds` either way.
 */
export function verifySignature(
  header: string | undefined,
  body: string,
  secret: string,
  { nowSeconds, toleranceSeconds = 300 }: { nowSeconds?: number; toleranceSeconds?: number } = {},
): boolean {
  const match = /^t=(\d{1,15}),v1=([0-9a-f]+)$/.exec(header ?? '')
  if (match === null) return false
  const timestamp = Number(match[1])
  const given = Buffer.from(match[2] ?? '')
  const expected = Buffer.from(createHmac('sha256', secret).update(`${match[1]}.${body}`).digest('hex'))
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false
  return nowSeconds === undefined || Math.abs(nowSeconds - timestamp) <= toleranceSeconds
}
