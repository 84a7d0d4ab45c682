// The chart's rules with a faster clock, because tests cannot wait for hours.
import { type RuleFile, renderRules } from '../chart/alerts/rules.ts'

/** Seconds of the rules per second of the test: a range of five minutes becomes 15 seconds. */
const speed = 20

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

const scale = (duration: string): string =>
  duration.replace(/^(\d+)([smhd])$/, (_all, count: string, unit: string) => {
    const milliseconds = (Number(count) * (unitSeconds[unit] ?? Number.NaN) * 1_000) / speed
    return `${Math.round(milliseconds)}ms`
  })

/** Divides ranges, offsets and `for` by `speed`; age thresholds come from the values. */
export async function renderScaledRules(values: object): Promise<RuleFile> {
  const { groups } = await renderRules(values)
  return {
    groups: groups.map((group) => ({
      ...group,
      rules: group.rules.map((rule) => ({
        ...rule,
        expr: rule.expr
          .replace(/\[(\w+)\]/g, (_all, range: string) => `[${scale(range)}]`)
          .replace(/offset (\w+)/g, (_all, by: string) => `offset ${scale(by)}`),
        ...(rule.for !== undefined && { for: scale(rule.for) }),
      })),
    })),
  }
}
