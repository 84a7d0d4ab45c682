import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { printerColumns } from '@matte/controller/operator/pool/crd'
import { rootDir } from '@matte/local/paths'
import { describe, expect, it } from 'vitest'
import { situations } from './pool-situations.ts'
import { readPath } from './situation-documents.ts'

const folder = join(rootDir, 'docs/situations')
const read = (id: string): string => readFileSync(join(folder, `${id}.md`), 'utf8')

describe('docs/situations', () => {
  it.each(situations)('shows the conditions that a pool has when $id', ({ id, pool }) => {
    const rows = read(id)
      .match(/^\| (?!condition).+ \|$/gm)
      ?.map((row) => row.slice(2, -2).split(' | '))
    expect(rows).toEqual(
      pool.status.conditions.map(({ type, status, reason, message }) => [type, status, `\`${reason}\``, message]),
    )
  })

  it.each(situations)('shows the Events of a pool when $id', ({ id, events }) => {
    const lines = read(id).split('Its Events:')[1]?.split('```')[1]?.trim().split('\n') ?? []
    expect(lines).toHaveLength(events.length)
    for (const [index, { type, reason, message }] of events.entries()) {
      expect(lines[index]).toMatch(new RegExp(`^${type} +${reason} `))
      expect(lines[index]?.endsWith(message)).toBe(true)
    }
  })

  it.each(situations)('shows what kubectl prints of $id', ({ id, pool }) => {
    const [, row = ''] = read(id).split('```\n')[1]?.split('\n') ?? []
    const ready = pool.status.conditions.find(({ type }) => type === 'Ready')
    const { desiredReplicas, readyReplicas, drainingReplicas, demand } = pool.status
    const counts = [desiredReplicas, readyReplicas, drainingReplicas, demand?.backlog].map(String)
    expect(row.split(/ {2,}/).slice(0, -1)).toEqual(['u2netp', ready?.status, ready?.reason, 'u2netp', ...counts])
  })

  it('shows eleven situations, of which no two are alike, and no others', () => {
    const rows = situations.map(({ pool }) => printerColumns.map(({ jsonPath }) => readPath(pool, jsonPath)).join())
    expect(new Set(rows).size).toBe(11)
    expect(readdirSync(folder).sort()).toEqual(situations.map(({ id }) => `${id}.md`).sort())
  })
})
