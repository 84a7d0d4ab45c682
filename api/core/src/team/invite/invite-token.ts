// The token of an invitation: opaque, 256 random bits, stored as SHA-256 (D17).
import { hash, randomBytes } from 'node:crypto'

export const generateInviteToken = (): string => `invite_${randomBytes(32).toString('base64url')}`

export const hashInviteToken = (token: string): Buffer => hash('sha256', token, 'buffer')

/** Where a person accepts it, in the web app. */
export const inviteUrl = (appUrl: string, token: string): string => `${appUrl}/teams/accept?token=${token}`
