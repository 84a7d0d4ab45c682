// Errors that callers see during upgrades, restarts and kills of each pod. The client's log accounts for every task;
// the database invariants and the ledger are checked at the end.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findMissing } from '../chart/helm.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { findErrors, type Tolerance } from './account/phases.ts'
import { findDifferences, findLossesAndRepeats } from './account/tasks.ts'
import type { Line } from './client/lines.ts'
import { connectToDatabase } from './support/database.ts'
import { credits, type Load, startLoad } from './support/load.ts'
import { openRelease, selectorOf } from './support/release.ts'
import { print, printPhases, secondsSince } from './support/table.ts'

/** Tasks that must end after each step, before the next one. */
const between = 4

const processes = ['api', 'worker', 'operator', 'dispatcher']

/** Errors allowed during a step: none, unless a single-pod server is down or an API pod is killed. */
const tolerances: Readonly<Record<string, Tolerance>> = {
  'kill api': { broken: true },
  'kill postgresql': { outage: true },
  'kill object-store': { outage: true, broken: true },
  'restart postgresql': { outage: true },
  'restart object-store': { outage: true, broken: true },
}

describe.skipIf(findMissing('cluster'))('an installation under load', () => {
  const release = openRelease()
  const { kubectl } = release
  let load: Load

  beforeAll(async () => {
    const begun = performance.now()
    await release.install()
    print(`installed after ${secondsSince(begun)}`)
    load = await startLoad(release)
    await load.phase('load alone')
    await load.untilMoreEnded(10)
  })

  afterAll(() => release.end())

  async function step(name: string, act: () => Promise<void>): Promise<void> {
    const begun = performance.now()
    await load.phase(name)
    await act()
    await release.untilServing()
    await load.untilMoreEnded(between)
    print(`${name}: ${secondsSince(begun)}`)
  }

  it('is upgraded to changed values', async () => {
    const values = processes.flatMap((name) => ['--set', `${name}.resources.requests.cpu=60m`])
    await step('upgrade', () => release.upgrade([...values, '--set', 'plans.pro.monthlyQuota=2000']))
  })

  it('is rolled back', async () => {
    await step('rollback', async () => void (await release.helm('rollback', 'matte', '1')))
  })

  it.each(processes)('has each pod of %s replaced', async (name) => {
    await step(`roll ${name}`, async () => void (await kubectl('rollout', 'restart', `deploy/matte-${name}`)))
  })

  it.each([...processes, 'triton', 'nats', 'object-store', 'postgresql'])('has each pod of %s killed', async (name) => {
    await step(`kill ${name}`, async () => {
      for (const pod of await release.podsOf(name)) {
        await kubectl('delete', 'pod', pod, '--grace-period=0', '--force', '--wait=true')
        await release.untilServing()
      }
    })
  })

  it.each(['nats', 'object-store', 'postgresql'])('has %s restarted', async (name) => {
    await step(`restart ${name}`, async () => void (await kubectl('rollout', 'restart', `sts/matte-${name}`)))
  })

  describe('at the end', () => {
    let lines: readonly Line[]

    beforeAll(async () => {
      lines = await load.end()
      printPhases(lines)
    })

    it("lost no task and repeated nothing, by the client's log", () => {
      expect(findLossesAndRepeats(lines)).toEqual([])
    })

    it('returned only documented errors, and only while a server was down', () => {
      expect(findErrors(lines, (phase) => tolerances[phase] ?? {})).toEqual([])
      // Otherwise the run proves nothing about uploads.
      const begun = lines.filter((line) => line.type === 'slow' && line.began === 'roll api')
      expect(begun.length).toBeGreaterThan(0)
    })

    it('counts and charges the same as the client', async () => {
      expect(findDifferences(lines)).toEqual([])
      const { workspaceId } = load
      const admin = ['exec', 'deploy/matte-api', '--', 'matte-admin', 'credits', 'balance', '--json']
      const balance = JSON.parse(await kubectl(...admin, '--workspace', workspaceId)) as Balance
      const succeeded = lines.filter((line) => line.type === 'ended' && line.status === 'succeeded').length
      expect(balance).toMatchObject({ available: credits - succeeded, held: 0 })
    })

    it('keeps every database invariant', async () => {
      await using database = await connectToDatabase(release)
      expect(await findBrokenRules(database.db)).toEqual({})
    })
  })

  it('has no pod that failed', async () => {
    const restarts = await kubectl(
      ...['get', 'pods', '-l', `app.kubernetes.io/component in (${processes.join(',')})`],
      ...['-o', 'jsonpath={range .items[*]}{.metadata.name} {.status.containerStatuses[0].restartCount}{"\\n"}{end}'],
    )
    expect(
      restarts
        .trim()
        .split('\n')
        .filter((line) => !line.endsWith(' 0')),
    ).toEqual([])
    expect((await kubectl('get', 'pods', '-l', selectorOf('triton'), '-o', 'name')).trim()).not.toBe('')
  })
})

type Balance = { readonly available: number; readonly held: number }
