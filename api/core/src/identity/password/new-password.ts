import type { Issue } from '../../invalid-params.ts'
import { invalidParams } from '../../invalid-params.ts'
import { isCommonPassword } from './common-password.ts'

/** Characters of a password (D15). */
export const passwordLength = { min: 12, max: 128 } as const

/**
 * Judges a password that somebody chooses; its length is the schema's. `own`: what others know of that person.
 * @throws MatteError INVALID_PARAMS
 */
export function checkNewPassword(password: string, path: string, own: readonly (string | null | undefined)[]): void {
  const words = own.filter((word) => typeof word === 'string')
  if (isCommonPassword(password, words)) throw invalidParams([commonIssue(path)])
}

const commonIssue = (path: string): Issue => ({
  path,
  message: 'is too easy to guess: it is, or is made of, one that many people use, or of your own name or address',
})
