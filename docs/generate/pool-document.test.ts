import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { printerColumns } from '@matte/controller/operator/pool/crd'
import { rootDir } from '@matte/local/paths'
import { describe, expect, it } from 'vitest'
import { readPath } from './pool-document.ts'
import { situations } from './pool-situations.ts'
import { readYamlBlocks } from './yaml.ts'

const text = readFileSync(join(rootDir, 'docs/tritonpool.md'), 'utf8')

/** What stands between this heading and the next. */
const sectionOf = (title: string): string => text.split(`### ${title}\n`)[1]?.split('\n##')[0] ?? ''

describe('docs/tritonpool.md', () => {
  it.each(situations)('shows the status that a pool has when $id', ({ title, pool }) => {
    expect(readYamlBlocks(sectionOf(title))).toEqual([
      { apiVersion: 'matte.dev/v1alpha1', kind: 'TritonPool', ...JSON.parse(JSON.stringify(pool)) },
    ])
  })

  it.each(situations)('shows what kubectl prints of $id', ({ title, pool }) => {
    const [, row = ''] = sectionOf(title).split('```\n')[1]?.split('\n') ?? []
    const ready = pool.status.conditions.find(({ type }) => type === 'Ready')
    const { desiredReplicas, readyReplicas, drainingReplicas, demand } = pool.status
    const counts = [desiredReplicas, readyReplicas, drainingReplicas, demand?.backlog].map(String)
    expect(row.split(/ {2,}/).slice(0, -1)).toEqual(['u2netp', ready?.status, ready?.reason, 'u2netp', ...counts])
  })

  it('shows ten situations, of which no two are alike', () => {
    const rows = situations.map(({ pool }) => printerColumns.map(({ jsonPath }) => readPath(pool, jsonPath)).join())
    expect(new Set(rows).size).toBe(10)
  })
})
