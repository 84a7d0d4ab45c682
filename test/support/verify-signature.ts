// Verification of `X-Service-Signature` as a webhook receiver does it.
import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * True if `header` is a valid `X-Service-Signature` of `body`. Compares byte lengths, then in constant time. With
 * `nowSeconds`, also rejects requests whose time differs by more than `toleranceSeconds`.
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
