// One test for each case, green only if every language passes it.
import { join } from 'node:path'
import { findBrokenRules } from '@matte/test/support/invariants.ts'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Case } from '../cases.ts'
import { type Driver, type Language, languages, startDriver } from './driver.ts'
import { writeInputs, writePhotos } from './inputs.ts'
import { type Bench, runCase } from './run-case.ts'
import { useService } from './service.ts'

export function defineCases(title: string, cases: readonly Case[]): void {
  describe(title, () => {
    const service = useService()
    let bench: Bench
    beforeAll(async () => {
      const inputs = join(inject('runDir'), `inputs-${process.pid}-${title.length}`)
      await writeInputs(inputs)
      const photos = await writePhotos(join(inputs, 'photos'), 12)
      const drivers = await Promise.all(languages.map(async (name) => [name, await startDriver(name)] as const))
      bench = { service, inputs, photos, drivers: Object.fromEntries(drivers) as Record<Language, Driver> }
    })
    afterAll(() => Promise.all(Object.values(bench.drivers).map((driver) => driver.stop())))

    // Most of a case is waiting between retries, so several run at once.
    describe.concurrent('each client', () => {
      for (const one of cases) {
        it(one.name, () => runEverywhere(one, bench))
      }
    })

    it('leaves the books of the service in order', async () => {
      expect(await findBrokenRules(service.stack.db)).toEqual({})
    })
  })
}

async function runEverywhere(one: Case, bench: Bench): Promise<void> {
  const outcomes = await Promise.allSettled(languages.map((language) => runCase(one, language, bench)))
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  if (failures.length === 1) throw failures[0]
  if (failures.length > 1) throw new AggregateError(failures, failures.map(String).join('\n'))
}
