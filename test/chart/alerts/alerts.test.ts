// Every alert of the chart, evaluated by promtool: it fires for its fault, and not just below the threshold or briefly.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { chartDir, findMissing, render, runOrThrow } from '../helm.ts'
import { dependencyCases } from './dependency-cases.ts'
import { namespaceCases } from './namespace-cases.ts'
import { objectiveCases } from './objective-cases.ts'
import { operatorCases } from './operator-cases.ts'
import { poolCases } from './pool-cases.ts'
import { checkConfig, checkRules, findMissingPromtool, testRules } from './promtool.ts'
import { recordCases } from './record-cases.ts'
import { type AlertingRule, alertsOf, findRule, type RuleFile, renderRules } from './rules.ts'
import { taskCases } from './task-cases.ts'
import { webhookCases } from './webhook-cases.ts'

const cases = [
  ...objectiveCases,
  ...taskCases,
  ...webhookCases,
  ...poolCases,
  ...operatorCases,
  ...namespaceCases,
  ...dependencyCases,
  ...recordCases,
]

describe.skipIf(findMissing('helm') ?? findMissingPromtool())('the alerts of the chart', () => {
  let rules: RuleFile
  beforeAll(async () => {
    rules = await renderRules()
  })

  it.each(cases.map((one) => [one.alert, one.fires.length > 0 ? 'fires' : 'is silent', one.when, one] as const))(
    '%s %s when %s',
    async (_alert, _does, _when, one) => {
      expect(await testRules(rules, one)).toBe('')
    },
  )

  it('have a firing and a silent case for each rule', () => {
    const lacking = alertsOf(rules).flatMap((rule) => {
      const own = cases.filter(({ alert }) => alert === rule.alert)
      const firing = own.filter(({ alert, fires }) =>
        fires.some(({ severity, window = '' }) => findRule(rules, labelsOf(alert, severity, window)) === rule),
      )
      return firing.length > 0 && firing.length < own.length ? [] : [nameOf(rule)]
    })
    expect(lacking).toEqual([])
  })

  it('pass promtool', async () => {
    expect(await checkRules(rules)).toBe('')
  })

  it('have one runbook each, with its URL', () => {
    const alerts = alertsOf(rules)
    for (const { alert, annotations } of alerts) {
      expect(annotations).toMatchObject({ runbook_url: `charts/matte/runbooks/${alert}.md` })
    }
    const pages = readdirSync(join(chartDir, 'runbooks')).map((file) => file.replace(/\.md$/, ''))
    expect(pages.sort()).toEqual([...new Set(alerts.map(({ alert }) => alert))].sort())
  })

  it('can be disabled, delayed and labelled individually, and follow thresholds', async () => {
    const own = await renderRules({
      alerts: {
        MatteTwoLeaders: { enabled: false },
        MatteNoLeader: { for: '1h', labels: { team: 'images', severity: 'info' } },
      },
      severities: { page: 'page' },
      thresholds: { retentionSeconds: 60 },
      objectives: { acceptPercent: 99.95 },
      runbookUrl: 'https://git.example.com/runbooks/',
      selector: 'job="matte"',
    })
    const alerts = alertsOf(own)
    const one = (name: string): AlertingRule | undefined => alerts.find(({ alert }) => alert === name)
    expect(one('MatteTwoLeaders')).toBeUndefined()
    expect(one('MatteNoLeader')).toMatchObject({ for: '1h', labels: { team: 'images', severity: 'info' } })
    expect(one('MatteProcessAbsent')?.labels.severity).toBe('page')
    expect(one('MatteRetentionLate')?.expr).toBe('max by (what) (matte_retention_lag_seconds{job="matte"}) > 60\n')
    expect(one('MatteAcceptFailing')?.expr).toContain('> 14.4 * (1 - 99.95 / 100)')
    expect(one('MatteNoLeader')?.annotations.runbook_url).toBe('https://git.example.com/runbooks/MatteNoLeader.md')
    expect(await checkRules(own)).toBe('')
  })

  it("can be exported to a file by the README's command", async () => {
    const command = fenceOf('sh', 'matte.rules.yaml').replace('> matte.rules.yaml', '')
    const file = parse(await runOrThrow('sh', ['-c', command.replaceAll('charts/matte', chartDir)])) as RuleFile
    expect(alertsOf(file).map(nameOf)).toEqual(alertsOf(rules).map(nameOf))
    expect(await checkRules(file)).toBe('')
    expect(await checkConfig(fenceOf('yaml', 'scrape_configs'))).toBe('')
  })

  it.each([
    [
      'an unknown alert',
      { alerts: { MatteNoLeaders: { enabled: false } } },
      /MatteNoLeaders; there are .*MatteNoLeader/,
    ],
    ['seconds that match no bucket', { objectives: { completionSeconds: { default: 31 } } }, /completionSeconds/],
    ['an objective without a budget', { objectives: { acceptPercent: 100 } }, /acceptPercent/],
  ])('reject %s', async (_name, own, words) => {
    expect((await render({ metrics: { rules: { enabled: true, ...own } } })).refusal).toMatch(words)
  })
})

/** First block of this kind in the chart's README that contains the word. */
function fenceOf(kind: string, word: string): string {
  const readme = readFileSync(join(chartDir, 'README.md'), 'utf8')
  const found = [...readme.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].find(
    ([all, own]) => own === kind && all.includes(word),
  )
  if (found?.[2] === undefined) throw new Error(`README.md of the chart has no ${kind} with ${word}`)
  return found[2]
}

const labelsOf = (alert: string, severity: string, window: string) => ({ alert, severity, ...(window && { window }) })
const nameOf = ({ alert, labels }: AlertingRule): string => `${alert} ${labels.severity} ${labels.window ?? ''}`.trim()
