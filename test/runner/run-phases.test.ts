import { describe, expect, it } from 'vitest'
import { findShortage, readMachine } from './machine.ts'
import type { Phase, PhaseResult } from './phase.ts'
import { runPhases } from './run-phases.ts'

const empty: PhaseResult = { passed: 0, failed: 0, failures: [], skips: [], failedFiles: [] }

const failedFile = (path: string) => ({ path, passed: 2, failed: 1, failures: [`${path}: waits: 404`] })

/** A phase with failed files, each with one failed test of three; `again` is the outcome when a file runs alone. */
function phaseOf(files: readonly string[], again: (path: string) => Partial<PhaseResult>): Phase {
  const failedFiles = files.map(failedFile)
  return {
    name: 'int tests',
    run: async () => ({ ...empty, passed: 10 + 2 * files.length, failed: files.length, failedFiles }),
    runFile: async (path) => ({ ...empty, ...again(path) }),
  }
}

const run = (...phases: Phase[]) => runPhases(phases, { say: () => {}, readMachine })
const passes = () => ({ passed: 3 })
const fails = (path: string) => ({ passed: 2, failed: 1, failedFiles: [failedFile(path)] })

describe('a run', () => {
  it('is green when each failed file passes alone, and reports the failed tests as flaky', async () => {
    const { passed, failed, summary } = await run(phaseOf(['a.test.ts', 'b.test.ts', 'c.test.ts'], passes))
    expect({ passed, failed }).toEqual({ passed: 19, failed: 0 })
    expect(summary.filter((line) => line.startsWith('flaky: '))).toHaveLength(3)
    expect(summary).toContain('flaky: a.test.ts: waits: 404')
    expect(summary.filter((line) => line.startsWith('failed: '))).toEqual([])
  })

  it('is red when a file fails twice', async () => {
    const { passed, failed, summary } = await run(phaseOf(['a.test.ts'], fails))
    expect({ passed, failed }).toEqual({ passed: 12, failed: 1 })
    expect(summary.filter((line) => line.startsWith('failed: '))).toEqual(['failed: a.test.ts: waits: 404'])
    expect(summary.filter((line) => line.startsWith('flaky: '))).toEqual([])
  })

  it('is red when a file skips all of its tests the second time', async () => {
    const { failed } = await run(phaseOf(['a.test.ts'], () => ({ skips: [['no cluster', 3]] })))
    expect(failed).toBe(1)
  })

  it('is red when more than three files fail, in all phases together, and runs none of them again', async () => {
    let again = 0
    const countAndPass = () => {
      again += 1
      return passes()
    }
    const two = phaseOf(['a.test.ts', 'b.test.ts'], countAndPass)
    const { failed, summary } = await run(two, phaseOf(['c.test.ts', 'd.test.ts'], countAndPass))
    expect({ failed, again }).toEqual({ failed: 4, again: 0 })
    expect(summary.at(-1)).toBe('4 test files failed, more than 3, so none ran again')
  })

  it('is red when a program fails, which runs once', async () => {
    let runs = 0
    const tool: Phase = {
      name: 'types',
      run: async () => {
        runs += 1
        return { ...empty, failed: 1, failures: ['types: tsc did not succeed'] }
      },
    }
    const { failed, summary } = await run(tool, phaseOf([], passes))
    expect({ failed, runs }).toEqual({ failed: 1, runs: 1 })
    expect(summary).toContain('failed: types: tsc did not succeed')
  })

  it('counts skipped tests by their reason', async () => {
    const skipping: Phase = { name: 'kube tests', run: async () => ({ ...empty, skips: [['no cluster', 4]] }) }
    const { skipped, summary } = await run(skipping)
    expect(skipped).toBe(4)
    expect(summary).toContain('4 skipped: no cluster')
  })
})

describe('a machine', () => {
  it('with less than 10 GB of free disk is refused in a sentence', () => {
    const machine = readMachine()
    expect(findShortage({ ...machine, freeDiskBytes: 10e9 })).toBeUndefined()
    expect(findShortage({ ...machine, freeDiskBytes: 9.9e9 })).toMatch(/Only 9.9 GB of disk are free/)
  })

  it('is read with sizes above zero', () => {
    const { freeDiskBytes, freeMemoryBytes, memoryBytes, cores } = readMachine()
    for (const value of [freeDiskBytes, freeMemoryBytes, memoryBytes, cores]) expect(value).toBeGreaterThan(0)
    expect(freeMemoryBytes).toBeLessThanOrEqual(memoryBytes)
  })
})
