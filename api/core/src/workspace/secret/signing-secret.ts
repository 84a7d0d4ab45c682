import { randomBytes } from 'node:crypto'

/** A new secret as it is issued: `whsec_` and base64 of 32 random bytes (D60). */
export const generateSigningSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`
