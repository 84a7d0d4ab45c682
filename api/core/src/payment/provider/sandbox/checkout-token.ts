// Token in the link of a sandbox checkout. The link pays or cancels one order, as at any provider's checkout (D91). An
// order's id is not secret, so the token is signed with a key derived from a master key. It works until that master key
// is removed.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { MasterKeys } from '../../../runtime/seal.ts'

/** `<order id>.<signature>`, without a character that a query would escape. */
export function signCheckout(masterKeys: MasterKeys, orderId: string): string {
  const [first] = masterKeys.values()
  if (first === undefined) throw new Error('no master key')
  return `${orderId}.${signatureOf(first, orderId).toString('base64url')}`
}

/** The id of the order; undefined for a token that no master key has signed. */
export function readCheckoutToken(masterKeys: MasterKeys, token: string): string | undefined {
  const [orderId = '', signature = ''] = token.split('.')
  const given = Buffer.from(signature, 'base64url')
  const isSigned = [...masterKeys.values()].some((key) => {
    const own = signatureOf(key, orderId)
    return given.length === own.length && timingSafeEqual(given, own)
  })
  return isSigned ? orderId : undefined
}

const signatureOf = (masterKey: Buffer, orderId: string): Buffer =>
  createHmac('sha256', Buffer.from(hkdfSync('sha256', masterKey, '', 'matte sandbox checkouts', 32)))
    .update(orderId)
    .digest()
