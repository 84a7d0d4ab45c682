// Runs promtool on the chart's rules.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { reportSkip } from '../../support/report/skips.ts'
import { run } from '../helm.ts'
import type { Case } from './case.ts'
import { findRule, type RuleFile } from './rules.ts'

/** Reason why alerts cannot be tested, reported once per file. */
export function findMissingPromtool(): string | undefined {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' })
    return undefined
  } catch {
    const reason = 'promtool is not in $PATH'
    reportSkip({ matching: 'test/chart/alerts', reason })
    return reason
  }
}

/** promtool's errors about a Prometheus configuration; empty if valid. */
export async function checkConfig(config: string): Promise<string> {
  const dir = newDir()
  const file = join(dir, 'prometheus.yaml')
  writeFileSync(file, config)
  const { stdout, stderr, failed } = await promtool(dir, ['check', 'config', file])
  return failed ? stdout + stderr : ''
}

/** promtool's errors about a rules file; empty if valid. */
export async function checkRules(rules: RuleFile): Promise<string> {
  const dir = newDir()
  const file = join(dir, 'rules.yaml')
  writeFileSync(file, stringify(rules))
  const { stdout, stderr, failed } = await promtool(dir, ['check', 'rules', '--lint-fatal', file])
  return failed ? stdout + stderr : ''
}

/** promtool's differences from the case; empty if it passes. */
export async function testRules(rules: RuleFile, one: Case): Promise<string> {
  const dir = newDir()
  // promtool evaluates every rule each minute. The alert's own group is enough, because groups are independent.
  const groups = rules.groups.filter((group) => group.rules.some(({ alert }) => alert === one.alert))
  writeFileSync(join(dir, 'rules.yaml'), stringify({ groups }))
  writeFileSync(join(dir, 'case.yaml'), stringify(toPromtool(rules, one)))
  const { stdout, stderr, failed } = await promtool(dir, ['test', 'rules', join(dir, 'case.yaml')])
  return failed ? stdout + stderr : ''
}

const newDir = (): string => mkdtempSync(join(tmpdir(), 'matte-rules-'))

/** Runs promtool on files of this folder and deletes the folder. */
const promtool = (dir: string, args: readonly string[]) =>
  run('promtool', args).finally(() => rmSync(dir, { recursive: true, force: true }))

function toPromtool(rules: RuleFile, { alert, series, at, fires }: Case) {
  const expected = fires.map(({ description, ...labels }) => {
    const rule = findRule(rules, { alert, ...labels })
    return {
      exp_labels: { ...rule.labels, ...labels },
      // Only the description has numbers; other annotations are constant.
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

const withNamespace = (series: string): string =>
  /[{,]namespace=/.test(series)
    ? series
    : series.includes('{')
      ? series.replace('{', '{namespace="here",')
      : `${series}{namespace="here"}`
