// The chart's rules with a clock that runs faster, since a test cannot wait for hours.
import { type RuleFile, renderRules } from '../chart/alerts/rules.ts'

/** How many seconds of the rules one second of the test is: a range of five minutes becomes 15 seconds. */
const speed = 20

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

const scale = (duration: string): string =>
  duration.replace(/^(\d+)([smhd])$/, (_all, count: string, unit: string) => {
    const milliseconds = (Number(count) * (unitSeconds[unit] ?? Number.NaN) * 1_000) / speed
    return `${Math.round(milliseconds)}ms`
  })

/** Ranges, offsets and `for` are divided by `speed`, thresholds of age by the values; nothing else is changed. */
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
