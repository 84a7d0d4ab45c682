// Limit of wrong codes per account, across all logins and sessions (D16). The times of the last five are kept per kind.

const failuresMax = 5
const minuteMs = 60_000
const hourMs = 60 * minuteMs

export type CodeKind = 'totp' | 'recovery'

/** End of the block: 15 minutes after five wrong TOTP codes in 15 minutes; an hour for five recovery codes. */
export function blockedUntil(kind: CodeKind, failures: readonly Date[], now: Date): Date | undefined {
  const [first, last] = [failures.at(-failuresMax), failures.at(-1)]
  if (first === undefined || last === undefined) return undefined
  const until = kind === 'recovery' ? first.getTime() + hourMs : afterQuarter(first, last)
  return until > now.getTime() ? new Date(until) : undefined
}

function afterQuarter(first: Date, last: Date): number {
  const quarterMs = 15 * minuteMs
  return last.getTime() - first.getTime() <= quarterMs ? last.getTime() + quarterMs : 0
}

export const withFailure = (failures: readonly Date[], at: Date): Date[] => [...failures, at].slice(-failuresMax)

/** Wrong codes of either kind in a day before a mail warns the owner. */
const warnAfter = 10
const dayMs = 24 * hourMs

export const withWrongCode = (codes: readonly Date[], at: Date): Date[] => [...codes, at].slice(-warnAfter)

/** Whether to warn the owner: after ten wrong codes in a day, at most once a day. */
export function warnsOwner(codes: readonly Date[], warnedAt: Date | null, now: Date): boolean {
  const first = codes.at(-warnAfter)
  const isRecent = (time: Date): boolean => now.getTime() - time.getTime() < dayMs
  return first !== undefined && isRecent(first) && (warnedAt === null || !isRecent(warnedAt))
}
