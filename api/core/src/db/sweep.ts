// Error handling of sweeps: a failing part, row or workspace does not stop the others. The sweep skips it and reports
// it at the end.
import { isDatabaseUnavailable } from './database-errors.ts'

type Aside = Map<string, unknown>

export type SweepPass = {
  /** For `matte-admin sweep --now`; defaults to the database clock. */
  readonly now?: Date | undefined
  readonly limit?: number
  /** Failed rows, skipped for the rest of the sweep. Without it, the first failure ends the call. */
  readonly aside?: Aside
  readonly signal?: AbortSignal | undefined
}

type Part = (pass: SweepPass) => Promise<number>

type PartFailure = {
  readonly part: string
  readonly error: unknown
  /** Skipped rows or workspaces; 0 if the part itself failed. */
  readonly rows: number
}

type Swept<Name extends string> = {
  readonly counts: Readonly<Record<Name, number>>
  readonly failures: readonly PartFailure[]
}

/** Rounds per part; the next sweep continues. */
const roundsMax = 1_000

/** Runs each part until nothing is left. Throws only if the database is unavailable. */
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

export function countsOrThrow<Name extends string>({ counts, failures }: Swept<Name>): Swept<Name>['counts'] {
  for (const { error } of failures) throw error
  return counts
}

type Row = { readonly id: string }

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

export const idsAside = ({ aside }: SweepPass): readonly string[] => [...(aside?.keys() ?? [])]
