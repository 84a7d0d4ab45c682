// What every sweep does with failures: a part, a row or a workspace that fails stops none of the others. It is left out
// until the sweep's end and reported there.
import { isDatabaseUnavailable } from './database.ts'

/** What failed in this sweep, by id. A lost race is kept without an error. */
type Aside = Map<string, unknown>

export type SweepPass = {
  /** For `matte-admin sweep --now`: judge as if it were this time; else the database's clock. */
  readonly now?: Date | undefined
  /** Rows, or workspaces, of one call. */
  readonly limit?: number
  /** Without it the first failure ends the call. */
  readonly aside?: Aside
  /** The rest is left to the next sweep. */
  readonly signal?: AbortSignal | undefined
}

/** One round of a part, of bounded size; returns how much it did. */
type Part = (pass: SweepPass) => Promise<number>

type PartFailure = {
  readonly part: string
  /** The first, where several rows failed. */
  readonly error: unknown
  /** Rows, or workspaces, that were left out; 0 when the part ended with the error. */
  readonly rows: number
}

type Swept<Name extends string> = {
  readonly counts: Readonly<Record<Name, number>>
  readonly failures: readonly PartFailure[]
}

/** Rounds of one part; what is left after them is the next sweep's. */
const roundsMax = 1_000

/** Runs each part in rounds until nothing is left of it. Throws only when the database is away. */
export async function sweepParts<Name extends string>(
  parts: Readonly<Record<Name, Part>>,
  { now, signal }: Pick<SweepPass, 'now' | 'signal'> = {},
): Promise<Swept<Name>> {
  const names = Object.keys(parts) as Name[]
  const counts = Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>
  const failures: PartFailure[] = []
  for (const part of names) {
    const aside: Aside = new Map()
    try {
      for (let rounds = 0; rounds < roundsMax && !signal?.aborted; rounds++) {
        const before = aside.size
        const done = await parts[part]({ now, aside, signal })
        counts[part] += done
        if (done === 0 && aside.size === before) break
      }
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error
      failures.push({ part, error, rows: 0 })
    }
    const errors = [...aside.values()].filter((error) => error !== undefined)
    if (errors.length > 0) failures.push({ part, error: errors[0], rows: errors.length })
  }
  return { counts, failures }
}

/** For those who want all of it or an error: what failed stopped nothing else. */
export function countsOrThrow<Name extends string>({ counts, failures }: Swept<Name>): Swept<Name>['counts'] {
  for (const { error } of failures) throw error
  return counts
}

type Row = { readonly id: string }

/** Does the work of one row after the other and adds up what it did. */
export async function sumEach<R extends Row>(
  rows: readonly R[],
  { aside, signal }: SweepPass,
  work: (row: R) => Promise<number>,
): Promise<number> {
  let sum = 0
  for (const row of rows) {
    if (signal?.aborted) break
    try {
      sum += await work(row)
    } catch (error) {
      if (aside === undefined || isDatabaseUnavailable(error)) throw error
      aside.set(row.id, error)
    }
  }
  return sum
}

/** Ids of what this sweep has left out so far. */
export const idsAside = ({ aside }: SweepPass): readonly string[] => [...(aside?.keys() ?? [])]
