// The packaged chart.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { findMissing, runOrThrow } from './helm.ts'

type Chart = { readonly version: string; readonly annotations: Readonly<Record<string, string>> }

describe.skipIf(findMissing('helm'))('the packaged chart', () => {
  const dir = mkdtempSync(join(tmpdir(), 'matte-package-'))
  let file = ''
  let said = ''
  beforeAll(async () => {
    said = await runOrThrow('node', [join(rootDir, 'docs/generate/chart/package.ts'), dir])
    file = join(dir, readdirSync(dir)[0] ?? '')
  })
  afterAll(() => rmSync(dir, { recursive: true }))

  const shown = async (): Promise<Chart> => parse(await runOrThrow('helm', ['show', 'chart', file])) as Chart
  /** Images by the command in the chart's README. */
  const imagesOf = (chart: string): string[] => {
    const readme = readFileSync(join(rootDir, 'charts/matte/README.md'), 'utf8')
    const command = /^helm template [\s\S]*?sort -u$/m.exec(readme)?.[0]
    if (command === undefined) throw new Error('the README has no command that lists the images')
    const script = command.replace('charts/matte', chart)
    return execFileSync('sh', ['-c', script], { cwd: rootDir, encoding: 'utf8' }).trimEnd().split('\n')
  }

  it("lists its images, and the README's command lists those of other values", async () => {
    const { annotations } = await shown()
    const named = (parse(annotations['artifacthub.io/images'] ?? '') as { image: string }[]).map(({ image }) => image)
    expect(named.length).toBe(5)
    expect(imagesOf(file)).toEqual(named.sort())
  })

  it('lists its changes, licence and CustomResourceDefinition', async () => {
    const { annotations } = await shown()
    expect(parse(annotations['artifacthub.io/changes'] ?? '')).toEqual(expect.arrayContaining([expect.any(String)]))
    expect(annotations['artifacthub.io/license']).toBe('Apache-2.0')
    expect(annotations['artifacthub.io/crds']).toContain('tritonpools.matte.dev')
  })

  it('renders the same objects as the folder, and contains no tests', async () => {
    const template = (chart: string) => runOrThrow('helm', ['template', 'matte', chart])
    expect(await template(file)).toBe(await template(join(rootDir, 'charts/matte')))
    const files = execFileSync('tar', ['-tzf', file], { encoding: 'utf8' })
    expect(files).toContain('matte/LICENSE')
    expect(files).toContain('matte/CHANGELOG.md')
    expect(files).toContain('matte/templates/tests/try.yaml')
    expect(files).not.toContain('matte/tests/')
  })

  it('prints the command that pushes it', async () => {
    const { version } = await shown()
    expect(said).toContain(`helm push ${join(dir, `matte-${version}.tgz`)} oci://`)
  })
})
