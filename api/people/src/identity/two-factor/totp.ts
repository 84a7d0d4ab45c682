// TOTP codes (RFC 6238): six digits, a new code every 30 seconds.
import { Secret, TOTP } from 'otpauth'

const periodSeconds = 30
/** Allowed clock skew in either direction. */
const stepsAround = 1
/** Length of the hash, as RFC 4226 recommends. */
const seedBytes = 20
const issuer = 'Matte'

export const newSeed = (): string => new Secret({ size: seedBytes }).base32

/** Content of the QR code. */
export const otpauthUrl = (seed: string, email: string): string =>
  new TOTP({ issuer, label: email, secret: seed, period: periodSeconds }).toString()

export const isTotp = (code: string): boolean => /^\d{6}$/.test(code)

type Given = {
  readonly code: string
  readonly at: Date
  /** Step of the last accepted code; it and earlier steps are rejected. */
  readonly lastStep: number | null
}

/** Time step of the code. Undefined if it is wrong, expired, early or used. */
export function matchStep(seed: string, { code, at, lastStep }: Given): number | undefined {
  const secret = Secret.fromBase32(seed)
  const timestamp = at.getTime()
  const off = TOTP.validate({ token: code, secret, period: periodSeconds, timestamp, window: stepsAround })
  if (off === null) return undefined
  const step = Math.floor(timestamp / 1_000 / periodSeconds) + off
  return lastStep === null || step > lastStep ? step : undefined
}
