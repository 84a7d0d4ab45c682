/**
 * One time of leading. The count alone is not enough to tell it from all others: a Lease that somebody deletes is made
 * again, and one who has not seen the old one counts from 1 again.
 */
export type Term = {
  /** Greater each time the Lease is acquired. */
  readonly count: number
  /** uid of the Lease. */
  readonly lease: string
}

/** The term as text, for an annotation; equal for equal terms and no others. */
export const fencingTokenOf = ({ count, lease }: Term): string => `${count}/${lease}`
