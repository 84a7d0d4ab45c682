// The alerts that the chart renders, given to promtool as a file of rules.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { render, run } from '../helm.ts'
import type { Case } from './case.ts'

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

/** The rules of a release `matte` in the namespace `here`, with these members of `metrics.rules`. */
export async function renderRules(rules: object = {}): Promise<RuleFile> {
  const { manifests, refusal } = await render({ metrics: { rules: { enabled: true, ...rules } } })
  if (refusal !== '') throw new Error(refusal)
  const found = manifests.find(({ kind }) => kind === 'PrometheusRule')
  return (found as unknown as { spec: RuleFile }).spec
}

export const alertsOf = ({ groups }: RuleFile): readonly AlertingRule[] =>
  groups.flatMap(({ rules }) => rules.filter((rule): rule is AlertingRule => rule.alert !== undefined))

/** What promtool objects to in a file of rules; empty when nothing. */
export async function checkRules(rules: RuleFile): Promise<string> {
  const file = join(newDir(), 'rules.yaml')
  writeFileSync(file, stringify(rules))
  const { stdout, stderr, failed } = await run('promtool', ['check', 'rules', '--lint-fatal', file])
  return failed ? stdout + stderr : ''
}

/** What promtool found otherwise than the case says; empty when nothing. */
export async function testRules(rules: RuleFile, one: Case): Promise<string> {
  const dir = newDir()
  // promtool evaluates every rule each minute: the alert's own group is enough, since none refers to another's.
  const groups = rules.groups.filter((group) => group.rules.some(({ alert }) => alert === one.alert))
  writeFileSync(join(dir, 'rules.yaml'), stringify({ groups }))
  writeFileSync(join(dir, 'case.yaml'), stringify(toPromtool(rules, one)))
  const { stdout, stderr, failed } = await run('promtool', ['test', 'rules', join(dir, 'case.yaml')])
  return failed ? stdout + stderr : ''
}

const newDir = (): string => mkdtempSync(join(tmpdir(), 'matte-rules-'))

function toPromtool(rules: RuleFile, { alert, series, at, fires }: Case) {
  const expected = fires.map(({ description, ...labels }) => {
    const rule = findRule(rules, { alert, ...labels })
    return {
      exp_labels: { ...rule.labels, ...labels },
      // Only the description has numbers; the other annotations are the same each time.
      exp_annotations: { ...rule.annotations, description },
    }
  })
  return {
    rule_files: ['rules.yaml'],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: Object.entries(series).map(([name, values]) => ({ series: withNamespace(name), values })),
        alert_rule_test: [{ eval_time: at, alertname: alert, exp_alerts: expected }],
      },
    ],
  }
}

/** Of alerts with several rules, the one with the severity and window that are named. */
export function findRule(rules: RuleFile, wanted: Labels): AlertingRule {
  const { alert, severity, window } = wanted
  const found = alertsOf(rules).filter(
    (rule) => rule.alert === alert && rule.labels.severity === severity && rule.labels.window === window,
  )
  if (found[0] === undefined || found.length > 1) throw new Error(`${JSON.stringify(wanted)} names no single rule`)
  return found[0]
}

const withNamespace = (series: string): string =>
  /[{,]namespace=/.test(series)
    ? series
    : series.includes('{')
      ? series.replace('{', '{namespace="here",')
      : `${series}{namespace="here"}`

export const readRuleFile = (text: string): RuleFile => parse(text) as RuleFile
