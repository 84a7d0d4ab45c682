// `make check`, `make test` and the heavier suites: runs the named groups of phases and closes with one line over all,
// `N passed, N failed, N skipped`. A phase that runs no tests counts as one.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeMachine, findShortage, readMachine } from './runner/machine.ts'
import { type Phase, skippedPhase, testPhase, toolPhase } from './runner/phase.ts'
import { runPhases } from './runner/run-phases.ts'
import { findSystemPostgres } from './support/system-postgres.ts'

const reportsDir = mkdtempSync(join(tmpdir(), 'matte-reports-'))
process.once('exit', () => rmSync(reportsDir, { recursive: true, force: true }))
const aborting = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => aborting.abort())

const colors = `--colors=${process.stdout.isTTY ? 'force' : 'off'}`
const tests = (project: string, files: readonly string[] = []): Phase => testPhase({ project, files, reportsDir })

const noPostgres15 = 'this machine has no PostgreSQL 15 (Debian: postgresql-15)'

const sourceFolders = 'api charts clients controller dispatcher docs local models protos test'.split(' ')

const folderCycles = ['--progress', 'none', '--config', '.dependency-cruiser.folders.mjs', ...sourceFolders]

const groups: Readonly<Record<string, readonly Phase[]>> = {
  check: [
    toolPhase('types', 'tsc', ['--noEmit']),
    toolPhase('types of clients', 'tsc', ['--noEmit', '-p', 'clients/typescript']),
    toolPhase('types of the console', 'tsc', ['--noEmit', '-p', 'api/console']),
    toolPhase('types of the documentation site', 'tsc', ['--noEmit', '-p', 'docs/site']),
    toolPhase('lint and format', 'biome', ['ci', '--error-on-warnings', colors]),
    toolPhase('unused code', 'knip', ['--no-progress']),
    toolPhase('code for tests only', 'knip', ['--no-progress', '--production', '--include', 'exports,types']),
    toolPhase('imports', 'depcruise', ['--progress', 'none', ...sourceFolders]),
    toolPhase('imports of folders', 'depcruise', folderCycles),
    toolPhase('prose', 'node', ['test/house/check-prose.ts']),
    toolPhase('shell', 'node', ['test/house/check-shell.ts']),
    toolPhase('generated files', 'node', ['docs/generate/generate.ts', '--check']),
    toolPhase('API contract', 'node', ['docs/generate/lint-contract.ts']),
    toolPhase('references', 'node', ['docs/generate/check-references.ts']),
    tests('unit'),
    tests('quality'),
  ],
  sim: [toolPhase('scaling rule', 'node', ['test/sim/main.ts'])],
  int: [tests('int')],
  render: [tests('chart')],
  clients: [
    toolPhase('client packages', 'node', ['clients/build.ts']),
    toolPhase('Python client', 'node', ['clients/python/check.ts']),
    tests('clients'),
  ],
  doors: [tests('clients', ['clients/conformance/doors/'])],
  faults: [
    tests('faults'),
    findSystemPostgres(15) ? tests('postgres-15') : skippedPhase('postgres-15 tests', noPostgres15),
  ],
  servers: [tests('servers')],
  browser: [toolPhase('console', 'node', ['api/console/build.ts']), tests('browser'), tests('screenshots')],
  smoke: [tests('cluster', ['test/cluster/smoke.test.ts'])],
  cluster: [tests('chart-on-cluster'), tests('kube'), tests('live'), tests('cluster'), tests('e2e')],
}

const phases = process.argv.slice(2).flatMap((name) => {
  const group = groups[name]
  if (!group) throw new Error(`no such group of phases: ${name}. There are ${Object.keys(groups).join(', ')}`)
  return group
})

const say = (text: string): void => void process.stdout.write(text)
const machine = readMachine()
say(`machine: ${describeMachine(machine)}\n`)
const shortage = findShortage(machine)
if (shortage !== undefined) {
  say(`${shortage}\n0 passed, 1 failed, 0 skipped\n`)
  process.exit(1)
}
const { passed, failed, skipped, summary } = await runPhases(phases, { say, readMachine, signal: aborting.signal })
say(`\n${summary.join('\n')}\n${passed} passed, ${failed} failed, ${skipped} skipped\n`)
if (aborting.signal.aborted) say('interrupted: the phases above are not complete\n')
process.exitCode = aborting.signal.aborted ? 130 : failed > 0 ? 1 : 0
