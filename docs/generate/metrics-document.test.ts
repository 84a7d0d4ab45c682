import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { expect, it } from 'vitest'
import { metricsByProcess } from './metrics-document.ts'

const all = Object.values(metricsByProcess).flatMap((groups) => groups.flatMap((group) => Object.values(group)))

it('names only existing metrics', () => {
  const known = new Set(all.map(({ name }) => name))
  const named = readFileSync(join(rootDir, 'docs/metrics.md'), 'utf8').match(/\bmatte_\w+/g) ?? []
  const base = (name: string): string => (known.has(name) ? name : name.replace(/_(bucket|sum|count)$/, ''))
  expect([...new Set(named)].filter((name) => !known.has(base(name)))).toEqual([])
  expect(named.length).toBeGreaterThan(known.size)
})

it('follows the rules for names, help texts and labels', () => {
  for (const { name, kind, help, labels } of all) {
    expect(name).toMatch(kind === 'counter' ? /^matte_[a-z_]+_total$/ : /^matte_[a-z_]+(?<!_total)$/)
    if (kind === 'histogram') expect(name).toMatch(/_(seconds|ratio)$/)
    expect(help).toMatch(/\.$/)
    for (const label of Object.keys(labels)) expect(label, name).toMatch(/^[a-z_]+$/)
    expect(Object.keys(labels).filter((label) => /(^|_)id$|path|workspace|key/.test(label))).toEqual([])
  }
})

it('has one definition for a metric of several processes', () => {
  const byName = Map.groupBy(new Set(all), ({ name }) => name)
  expect([...byName].filter(([, definitions]) => definitions.length > 1)).toEqual([])
})
