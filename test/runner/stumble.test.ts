// The runner over a vitest project with one test that fails on every second run.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { readMachine } from './machine.ts'
import { testPhase } from './phase.ts'
import { runPhases } from './run-phases.ts'

const root = join(import.meta.dirname, '../fixtures/stumbling')
let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'matte-stumble-'))
  vi.stubEnv('STUMBLE_MARK', join(dir, 'mark'))
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(dir, { recursive: true })
})

const run = () =>
  runPhases([testPhase({ project: 'stumbling', reportsDir: dir, root })], { say: () => {}, readMachine })

it('names a test that fails on every second run once, and counts the run as passed', async () => {
  const { passed, failed, summary } = await run()
  expect({ passed, failed }).toEqual({ passed: 4, failed: 0 })
  const lines = summary.filter((line) => /every second run/.test(line))
  expect(lines).toEqual([
    expect.stringMatching(
      /^flaky: \S+every-second-run\.fixture\.ts: fails on every second run: .*the first run of two/,
    ),
  ])
})

it('passes without a flaky line when nothing fails', async () => {
  writeFileSync(join(dir, 'mark'), '')
  const { passed, failed, summary } = await run()
  expect({ passed, failed }).toEqual({ passed: 4, failed: 0 })
  expect(summary.filter((line) => line.startsWith('flaky'))).toEqual([])
})

it('is red for an error outside the tests, also beside a test that passes the second time', async () => {
  vi.stubEnv('STUMBLE_REJECTION', 'on')
  const { failed, summary } = await run()
  expect(failed).toBe(1)
  expect(summary).toContain('failed: stumbling tests: an error outside the tests: nothing handles this')
  expect(summary.filter((line) => line.startsWith('flaky: '))).toHaveLength(1)
})
