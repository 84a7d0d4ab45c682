// Rules rendered by the chart.
import { render } from '../helm.ts'

type Labels = Readonly<Record<string, string>>

type Rule = {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
  readonly for?: string
  readonly labels: Labels
  readonly annotations?: Labels
}

export type RuleFile = { readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[] }

export type AlertingRule = Rule & { readonly alert: string; readonly annotations: Labels }

/** Rules of a release `matte` in the namespace `here`, with these fields of `metrics.rules`. */
export async function renderRules(rules: object = {}): Promise<RuleFile> {
  const { manifests, refusal } = await render({ metrics: { rules: { enabled: true, ...rules } } })
  if (refusal !== '') throw new Error(refusal)
  const found = manifests.find(({ kind }) => kind === 'PrometheusRule')
  // Manifests are typed by their pod fields; promtool checks the format of rules.
  return (found as unknown as { spec: RuleFile }).spec
}

export const alertsOf = ({ groups }: RuleFile): readonly AlertingRule[] =>
  groups.flatMap(({ rules }) => rules.filter((rule): rule is AlertingRule => rule.alert !== undefined))

/** The rule of an alert with this severity and window. */
export function findRule(rules: RuleFile, wanted: Labels): AlertingRule {
  const { alert, severity, window } = wanted
  const found = alertsOf(rules).filter(
    (rule) => rule.alert === alert && rule.labels.severity === severity && rule.labels.window === window,
  )
  if (found[0] === undefined || found.length > 1) throw new Error(`${JSON.stringify(wanted)} names no single rule`)
  return found[0]
}
