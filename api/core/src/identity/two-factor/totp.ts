// Codes by time (D16, RFC 6238): six digits, a new one each 30 seconds.
import { Secret, TOTP } from 'otpauth'

const periodSeconds = 30
/** A clock may be one step off in either direction. */
const stepsAround = 1
/** As RFC 4226 advises: the length of the hash. */
const seedBytes = 20
const issuer = 'Matte'

/** A new seed in base32, as authenticator apps take it. */
export const newSeed = (): string => new Secret({ size: seedBytes }).base32

/** What the QR code says. */
export const otpauthUrl = (seed: string, email: string): string =>
  new TOTP({ issuer, label: email, secret: seed, period: periodSeconds }).toString()

export const isTotp = (code: string): boolean => /^\d{6}$/.test(code)

type Given = {
  readonly code: string
  readonly at: Date
  /** Of the last code that was taken; it and those before it are used up. */
  readonly lastStep: number | null
}

/** The time step whose code this is. Undefined: it is wrong, too old or early, or used up. */
export function matchStep(seed: string, { code, at, lastStep }: Given): number | undefined {
  const secret = Secret.fromBase32(seed)
  const timestamp = at.getTime()
  const off = TOTP.validate({ token: code, secret, period: periodSeconds, timestamp, window: stepsAround })
  if (off === null) return undefined
  const step = Math.floor(timestamp / 1_000 / periodSeconds) + off
  return lastStep === null || step > lastStep ? step : undefined
}
