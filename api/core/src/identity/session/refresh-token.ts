// Refresh tokens (D14): opaque, stored as SHA-256. Each is derived from the one before it, so that whoever repeats a
// refresh within seconds gets the same answer without its being stored anywhere. Without a master key nobody can derive
// the next from one that was stolen.
import { createHash, randomBytes } from 'node:crypto'

/** Tells a secret scanner, and a reader, what it is. */
const prefix = 'refresh_'
const form = /^refresh_[\w-]{43}$/

export const toToken = (bytes: Buffer): string => `${prefix}${bytes.toString('base64url')}`

export const generateRefreshToken = (): string => toToken(randomBytes(32))

export const isWellFormedRefreshToken = (text: string): boolean => form.test(text)

export const hashRefreshToken = (token: string): Buffer => createHash('sha256').update(token).digest()
