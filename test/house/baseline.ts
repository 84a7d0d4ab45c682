// The ratchet: what the checks find may stand in the baseline, and then only shrink.
import type { Finding } from './finding.ts'

export type Baseline = {
  /** Why a finding was let in or let grow; none for what was there at the beginning. */
  readonly accepted: Readonly<Record<string, string>>
  /** Rule → where → size. */
  readonly findings: Readonly<Record<string, Readonly<Record<string, number>>>>
}

export type Comparison = {
  /** Findings that are new or have grown, with the size that they had. */
  readonly worse: readonly (Finding & { readonly was: number })[]
  /** Entries that are gone or have shrunk, one line each. */
  readonly better: readonly string[]
}

export function compare(findings: readonly Finding[], baseline: Baseline): Comparison {
  const sizes = new Map(findings.map((finding) => [keyOf(finding), finding.size]))
  const worse = findings.flatMap((finding) => {
    const was = baseline.findings[finding.rule]?.[finding.where] ?? 0
    return finding.size > was ? [{ ...finding, was }] : []
  })
  const better = Object.entries(baseline.findings).flatMap(([rule, entries]) =>
    Object.entries(entries).flatMap(([where, was]) => {
      const size = sizes.get(keyOf({ rule, where })) ?? 0
      return size < was ? [`${rule}: ${where}: ${was} -> ${size === 0 ? 'gone' : size}`] : []
    }),
  )
  return { worse, better }
}

/** The baseline that holds now. @throws Error when something became worse and no reason accepts it */
export function update(findings: readonly Finding[], baseline: Baseline, reason: string | undefined): Baseline {
  const { worse } = compare(findings, baseline)
  if (worse.length > 0 && !reason) throw new Error(`${worse.length} findings are new or have grown: mend them`)
  const accepted = { ...baseline.accepted, ...Object.fromEntries(worse.map((one) => [keyOf(one), reason ?? ''])) }
  const keys = new Set(findings.map(keyOf))
  return {
    accepted: Object.fromEntries(sorted(Object.entries(accepted)).filter(([key]) => keys.has(key))),
    findings: toTable(findings),
  }
}

/** The baseline of a house that had none. */
export const firstBaseline = (findings: readonly Finding[]): Baseline => ({ accepted: {}, findings: toTable(findings) })

const keyOf = ({ rule, where }: Pick<Finding, 'rule' | 'where'>): string => `${rule}: ${where}`

function toTable(findings: readonly Finding[]): Baseline['findings'] {
  const byRule = Map.groupBy(findings, ({ rule }) => rule)
  return Object.fromEntries(
    sorted([...byRule]).map(([rule, some]) => [
      rule,
      Object.fromEntries(sorted(some.map(({ where, size }): [string, number] => [where, size]))),
    ]),
  )
}

const sorted = <T>(entries: [string, T][]): [string, T][] => entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
