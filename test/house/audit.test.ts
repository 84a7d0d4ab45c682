// `make audit` as a program, with a made folder of advisories in the form that osv-scanner expects.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { strToU8, zipSync } from 'fflate'
import { afterAll, describe, expect, it } from 'vitest'
import { reportSkip } from '../support/report/skips.ts'
import { findScanner } from './audit.ts'

const dir = mkdtempSync(join(tmpdir(), 'matte-audit-'))
afterAll(() => rmSync(dir, { recursive: true }))

function write(file: string, contents: string | Uint8Array): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, contents)
}

/** An advisory about versions before 1.2.4 of one package. */
const advisory = (ecosystem: string, name: string) => ({
  ...{ schema_version: '1.6.0', id: `MADE-${name}`, modified: '2026-01-01T00:00:00Z', summary: 'Planted' },
  affected: [
    {
      package: { ecosystem, name },
      ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed: '1.2.4' }] }],
    },
  ],
})

const advisories = join(dir, 'advisories')
for (const [ecosystem, name] of [
  ['npm', 'planted'],
  ['PyPI', 'planted-wheel'],
] as const) {
  const text = JSON.stringify(advisory(ecosystem, name))
  write(join(advisories, 'osv-scalibr', ecosystem, 'all.zip'), zipSync({ [`MADE-${name}.json`]: strToU8(text) }))
}

type Project = { readonly npm?: string; readonly wheel?: string; readonly ignored?: string }
let projects = 0

/** Runs `make audit` on a project with these versions. */
function audit({ npm = '1.2.4', wheel = '1.2.4', ignored = '' }: Project, folder = advisories) {
  projects += 1
  const root = join(dir, `project-${projects}`)
  const packages = { '': { dependencies: { planted: npm } }, 'node_modules/planted': { version: npm } }
  write(join(root, 'package-lock.json'), JSON.stringify({ name: 'made', lockfileVersion: 3, packages }))
  write(join(root, 'client/requirements-dev.txt'), `planted-wheel==${wheel}\n`)
  write(join(root, 'node_modules/planted/package-lock.json'), 'not read')
  write(join(root, 'osv-scanner.toml'), ignored)
  const args = [join(rootDir, 'test/house/audit.ts'), '--root', root, ...(folder ? ['--advisories', folder] : [])]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: { ...process.env, MATTE_ADVISORIES: '' },
  })
  return { status, output: stdout + stderr }
}

const ignore = (more: string): string => `[[IgnoredVulns]]\nid = "MADE-planted"\n${more}`
const reason = 'reason = "the affected function is not called"\n'

const noScanner = findScanner() === undefined
if (noScanner)
  reportSkip({ matching: 'compares with advisories', reason: 'osv-scanner is absent: make audit builds it' })

describe.skipIf(noScanner)('make audit compares with advisories', () => {
  it('finds a vulnerable version in the lock file of each language, and fails', () => {
    const { status, output } = audit({ npm: '1.2.3', wheel: '1.2.3' })
    expect(output).toMatch(/MADE-planted\b.*planted .*1\.2\.3.*1\.2\.4.*package-lock\.json/)
    expect(output).toMatch(/MADE-planted-wheel.*1\.2\.3.*1\.2\.4.*requirements-dev\.txt/)
    expect(output).toContain('update the packages above, or list an advisory in osv-scanner.toml')
    expect(status).toBe(1)
  })

  it('succeeds without findings', () => {
    const { status, output } = audit({})
    expect(output).toContain('comparing 2 lock files')
    expect(output).toContain('No issues found')
    expect(status).toBe(0)
  })

  it('ignores a listed advisory until its date', () => {
    const [later, earlier] = ['2999-01-01', '2020-01-01'].map((date) => ignore(`${reason}ignoreUntil = ${date}\n`))
    expect(audit({ npm: '1.2.3', ignored: later ?? '' }).status).toBe(0)
    expect(audit({ npm: '1.2.3', ignored: earlier ?? '' }).status).toBe(1)
  })
})

describe('make audit refuses', () => {
  it('to run without a folder, and without the advisories of a language', () => {
    expect(audit({}, '')).toEqual({ status: 2, output: expect.stringContaining('set MATTE_ADVISORIES') })
    const { status, output } = audit({}, join(dir, 'nothing'))
    expect(output).toContain('osv-scalibr/PyPI/all.zip does not exist: download https://')
    expect(status).toBe(2)
  })

  it.each([
    ['no reason', ignore('ignoreUntil = 2999-01-01\n')],
    ['no date', ignore(reason)],
    ['a whole package', '[[PackageOverrides]]\nname = "planted"\nignore = true\n'],
  ])('to ignore with %s', (_, ignored) => {
    const { status, output } = audit({ npm: '1.2.3', ignored })
    expect(output).toContain('needs [[IgnoredVulns]] with id, reason and ignoreUntil')
    expect(status).toBe(2)
  })
})
