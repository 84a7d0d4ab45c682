import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { countSkips, readSkipReasons, reportSkip, skipReasonsVariable } from './skips.ts'

const reportOf = (path: string, ...tests: readonly (readonly [string, string])[]) => ({
  testResults: [{ name: path, assertionResults: tests.map(([fullName, status]) => ({ fullName, status })) }],
})

describe('skipped tests', () => {
  it('are counted by the reason that matches their title or file', () => {
    const { testResults } = reportOf(
      '/repo/test/core/usage.test.ts',
      ['usage on PostgreSQL 15 counts', 'skipped'],
      ['usage on PostgreSQL 15 adds up', 'skipped'],
      ['usage on PostgreSQL 18 counts', 'passed'],
    )
    const kube = reportOf('/repo/test/kube/lease.test.ts', ['the leadership moves', 'pending'])
    const reasons = [
      { matching: 'lease.test.ts', reason: 'no cluster' },
      { matching: 'PostgreSQL 15', reason: 'no PostgreSQL 15' },
    ]
    expect(countSkips({ testResults: [...kube.testResults, ...testResults] }, reasons)).toEqual([
      ['no PostgreSQL 15', 2],
      ['no cluster', 1],
    ])
  })

  it('are reported by file without a reason', () => {
    expect(countSkips(reportOf('/repo/a.test.ts', ['a', 'todo'], ['b', 'skipped']), [])).toEqual([
      ['no reason is given in /repo/a.test.ts', 2],
    ])
  })
})

describe('the reasons of a run', () => {
  let dir: string
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'matte-skips-'))
    vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  })
  afterEach(() => {
    vi.restoreAllMocks()
    vi.unstubAllEnvs()
    rmSync(dir, { recursive: true })
  })

  it('are read as reported', () => {
    const file = join(dir, 'reasons')
    vi.stubEnv(skipReasonsVariable, file)
    expect(readSkipReasons(file)).toEqual([])
    const skips = [
      { matching: 'a', reason: 'no "a"' },
      { matching: 'b', reason: 'no b' },
    ]
    for (const skip of skips) reportSkip(skip)
    expect(readSkipReasons(file)).toEqual(skips)
  })

  it('are only printed without a file to collect them', () => {
    vi.stubEnv(skipReasonsVariable, '')
    reportSkip({ matching: 'a', reason: 'no a' })
    expect(process.stdout.write).toHaveBeenCalledWith('[skipped] a: no a\n')
  })
})
