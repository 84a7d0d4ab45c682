// Runbooks of the alerts: each has all sections, and names only existing commands, objects and metrics.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { chartDir, findMissing, render } from '../helm.ts'
import type { Manifest } from '../manifest.ts'
import { checkRules, findMissingPromtool } from './promtool.ts'
import { findUnknown } from './queries.ts'
import { alertsOf, renderRules } from './rules.ts'

const sections = ['What the caller sees', 'Look', 'Do', 'Escalate']
const pages = readdirSync(join(chartDir, 'runbooks')).map((file) => {
  const text = readFileSync(join(chartDir, 'runbooks', file), 'utf8')
  const fences = [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
  const of = (kind: string) => fences.flatMap(([, found, body = '']) => (found === kind ? [body.trim()] : []))
  return { alert: file.replace(/\.md$/, ''), text, fences, shell: of('sh'), promql: of('promql') }
})

describe.skipIf(findMissing('helm') ?? findMissingPromtool())('the runbooks', () => {
  let manifests: readonly Manifest[]
  let usage: string
  beforeAll(async () => {
    manifests = (await render({ metrics: { rules: { enabled: true } } })).manifests
    const admin = fileURLToPath(import.meta.resolve('@matte/api/admin/main'))
    usage = (await promisify(execFile)(process.execPath, [admin, '--help'])).stdout
  })

  it.each(pages)('$alert has all sections, and at least three commands or queries', (page) => {
    const { alert, text, shell, promql, fences } = page
    expect(text.startsWith(`# ${alert}\n\n`)).toBe(true)
    expect([...text.matchAll(/^## (.+)$/gm)].map(([, title]) => title)).toEqual(sections)
    for (const part of text.split(/^## .+$/m)) expect(part.trim()).not.toBe('')
    expect(shell.length + promql.length).toBeGreaterThanOrEqual(3)
    expect(fences).toHaveLength(shell.length + promql.length)
  })

  it.each(pages)('$alert names existing objects and commands', ({ text }) => {
    const names = new Set(manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`))
    for (const [, name = ''] of text.matchAll(/\bdeploy\/\$NAME(-[a-z]+)/g)) {
      expect(names).toContain(`Deployment matte${name}`)
    }
    for (const [, name = ''] of text.matchAll(/\$NAME(-[a-z-]+)-0\b/g))
      expect(names).toContain(`StatefulSet matte${name}`)
    for (const [, name = ''] of text.matchAll(/networkpolicy \$NAME(-[a-z]+)/g)) {
      expect(names).toContain(`NetworkPolicy matte${name}`)
    }
    const components = new Set(manifests.map(({ metadata }) => metadata.labels?.['app.kubernetes.io/component']))
    for (const [, component] of text.matchAll(/app\.kubernetes\.io\/component=([a-z-]+)/g)) {
      expect(components).toContain(component)
    }
    for (const [, command = ''] of text.matchAll(/matte-admin ([a-z]+(?: [a-z]+)?)/g)) {
      expect(usage).toMatch(new RegExp(`^ {2}matte-admin ${command}\\b`, 'm'))
    }
    for (const [, page] of text.matchAll(/`(Matte\w+)\.md`/g)) expect(pages.map(({ alert }) => alert)).toContain(page)
  })

  it('run no kubectl command on a kind that an installation lacks', () => {
    const kinds = new Set(manifests.map(({ kind }) => kind.toLowerCase()))
    // Created by the operator, the StatefulSets or Kubernetes.
    const others = ['pod', 'event', 'lease', 'tritonpool', 'node', 'secret', 'pvc']
    const missing = pages.flatMap(({ alert, shell }) =>
      shell
        .flatMap((command) => [...command.matchAll(/kubectl (?:-n \$NAMESPACE )?(?:get|describe|top) ([a-z,]+)/g)])
        .flatMap(([, list = '']) => list.split(','))
        .map((kind) => kind.replace(/ies$/, 'y').replace(/s$/, ''))
        .filter((kind) => !kinds.has(kind) && !others.includes(kind))
        .map((kind) => `${alert}: ${kind}`),
    )
    expect(missing).toEqual([])
  })

  it("look up pools and their Events in every namespace, because teams' pools have their own", () => {
    const ofPools = pages.filter(({ alert }) => ['MattePoolClosed', 'MattePoolRolledBack'].includes(alert))
    const commands = ofPools.flatMap(({ shell }) => shell).filter((command) => /\b(events|tritonpools)\b/.test(command))
    expect(commands).toHaveLength(4)
    for (const command of commands) expect(command).toMatch(/^kubectl get (events|tritonpools) -A /)
  })

  it('and the rules use existing metrics, labels and values', async () => {
    const rules = await renderRules()
    const asked = [
      ...pages.flatMap(({ alert, promql }) => promql.map((expr) => ({ alert, expr }))),
      ...rules.groups.flatMap((group) => group.rules.map(({ alert = group.name, expr }) => ({ alert, expr }))),
    ]
    const wrong = asked.flatMap(({ alert, expr }) => findUnknown(expr).map((problem) => `${alert}: ${problem}`))
    expect([...new Set(wrong)]).toEqual([])
  })

  it('have valid queries', async () => {
    const queries = pages.flatMap(({ alert, promql }) =>
      promql.map((expr, index) => ({ record: `${alert}:${index}`, expr, labels: {} })),
    )
    expect(await checkRules({ groups: [{ name: 'queries', rules: queries }] })).toBe('')
  })

  it('are in the cluster, with the names of the release', async () => {
    const own = await render({ metrics: { rules: { enabled: true } }, fullnameOverride: 'cutter' })
    const book = own.manifests.find(({ metadata }) => metadata.name === 'cutter-runbooks')?.data ?? {}
    expect(Object.keys(book).sort()).toEqual(pages.map(({ alert }) => `${alert}.md`).sort())
    for (const text of Object.values(book)) expect(text).not.toMatch(/\$NAME/)
    expect(book['MatteRetentionLate.md']).toContain('kubectl -n here exec deploy/cutter-api -- matte-admin sweep')
    const command = alertsOf(await renderRules())[0]?.annotations.runbook_command
    expect(command).toContain("get configmap matte-runbooks -o jsonpath='{.data.MatteAcceptFailing\\.md}'")
  })
})
