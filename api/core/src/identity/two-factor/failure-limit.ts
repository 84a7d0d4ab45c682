// Wrong codes of an account, whatever login or session they came with (D16). Of each kind the times of the last five
// are kept, since five of them are what stops it.

const failuresMax = 5
const minuteMs = 60_000
const hourMs = 60 * minuteMs

export type CodeKind = 'totp' | 'recovery'

/**
 * When codes of this kind are taken again; undefined: now. Five wrong ones within a quarter of an hour stop codes by
 * time for as long after the last. Recovery codes: five wrong ones in any hour.
 */
export function stoppedUntil(kind: CodeKind, failures: readonly Date[], now: Date): Date | undefined {
  const [first, last] = [failures.at(-failuresMax), failures.at(-1)]
  if (first === undefined || last === undefined) return undefined
  const until = kind === 'recovery' ? first.getTime() + hourMs : afterQuarter(first, last)
  return until > now.getTime() ? new Date(until) : undefined
}

function afterQuarter(first: Date, last: Date): number {
  const quarterMs = 15 * minuteMs
  return last.getTime() - first.getTime() <= quarterMs ? last.getTime() + quarterMs : 0
}

/** With one more. */
export const withFailure = (failures: readonly Date[], at: Date): Date[] => [...failures, at].slice(-failuresMax)

/** Wrong codes of either kind in a day after which a mail warns the owner. */
const toldAfter = 10
const dayMs = 24 * hourMs

/** The last ten wrong codes, with one more. */
export const withWrongCode = (codes: readonly Date[], at: Date): Date[] => [...codes, at].slice(-toldAfter)

/** Whether a mail warns the owner: after ten wrong codes in a day, at most once in a day. */
export function warnsOwner(codes: readonly Date[], toldAt: Date | null, now: Date): boolean {
  const first = codes.at(-toldAfter)
  const isRecent = (time: Date): boolean => now.getTime() - time.getTime() < dayMs
  return first !== undefined && isRecent(first) && (toldAt === null || !isRecent(toldAt))
}
