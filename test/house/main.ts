// The checks of the house: cycles, borders, exports, sizes, the lock file. `make check` runs them and compares with
// baseline.json; `make house` writes the baseline again, smaller. See test/README.md for what to do about a finding.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Baseline, compare, firstBaseline, update } from './baseline.ts'
import { checkBorders, checkPackages } from './check-borders.ts'
import { checkEntryPoints, checkExports } from './check-exports.ts'
import { checkColumns, checkSizes } from './check-sizes.ts'
import { findCycles } from './find-cycles.ts'
import type { Finding } from './finding.ts'
import * as layers from './layers.ts'
import { listFiles } from './list-files.ts'
import { checkLock, readLock } from './lock/check-lock.ts'
import { readSources } from './read-sources.ts'
import { readWorkspaces, resolveImports } from './resolve-imports.ts'

const rootDir = join(import.meta.dirname, '../..')
const baselineFile = join(import.meta.dirname, 'baseline.json')

const { values } = parseArgs({ options: { write: { type: 'boolean' }, accept: { type: 'string' } } })
const findings = runChecks()
process.exitCode = values.write ? write(findings) : check(findings)

function runChecks(): Finding[] {
  const files = readSources(rootDir)
  const workspaces = readWorkspaces(rootDir)
  const edges = resolveImports(files, workspaces)
  const { lock, manifests } = readLock(rootDir)
  return [
    ...findCycles(edges),
    ...checkPackages(edges, workspaces),
    ...checkBorders(edges, layers),
    ...checkExports(files, edges, layers.programs),
    ...checkEntryPoints(edges, workspaces),
    ...checkSizes(files, layers.tables),
    ...checkColumns(readScripts()),
    ...checkLock(lock, manifests),
  ]
}

/** Other texts that people write, for their width. */
function readScripts(): { path: string; lines: string[] }[] {
  const paths = [...listFiles(rootDir, '{*.{sh,py,pbtxt},Makefile,Dockerfile}'), '.ci/run']
  return paths.map((path) => ({ path, lines: readFileSync(join(rootDir, path), 'utf8').split('\n') }))
}

function check(found: readonly Finding[]): number {
  const { worse, better } = compare(found, readBaseline() ?? firstBaseline([]))
  for (const { rule, where, size, was, advice } of worse) {
    say(`${rule}: ${where}: ${was === 0 ? (size > 1 ? size : 'new') : `${was} -> ${size}`}. ${advice}`)
  }
  if (worse.length > 0) say('\nMend these, or have a reviewer agree: make house ARGS=\'--accept "the reason"\'')
  if (better.length > 0) say(`${better.join('\n')}\n\nThese became smaller: run make house, so that they stay so`)
  return worse.length + better.length > 0 ? 1 : 0
}

function write(found: readonly Finding[]): number {
  const baseline = readBaseline()
  try {
    const next = baseline ? update(found, baseline, values.accept) : firstBaseline(found)
    writeFileSync(baselineFile, `${JSON.stringify(next, null, 2)}\n`)
    return 0
  } catch (error) {
    check(found)
    say(error instanceof Error ? error.message : String(error))
    return 1
  }
}

function readBaseline(): Baseline | undefined {
  return existsSync(baselineFile) ? (JSON.parse(readFileSync(baselineFile, 'utf8')) as Baseline) : undefined
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
