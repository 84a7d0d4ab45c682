// Drains the nodes one after the other under load, as for a cluster upgrade.
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findMissing, run, runOrThrow } from '../chart/helm.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { reportSkip } from '../support/report/skips.ts'
import { findErrors, type Tolerance } from './account/phases.ts'
import { findDifferences, findLossesAndRepeats } from './account/tasks.ts'
import { connectToDatabase } from './support/database.ts'
import { type Load, loadSelector, startLoad } from './support/load.ts'
import { openRelease } from './support/release.ts'
import { print, printPhases, secondsSince } from './support/table.ts'

const between = 4

function findNodes(): readonly string[] {
  const reason = 'there is one node only: a drained node needs another one'
  const nodes = findMissing('cluster') === undefined ? listNodes() : []
  if (nodes.length === 1) reportSkip({ matching: 'drain.test.ts', reason })
  return nodes.length > 1 ? nodes : []
}

const listNodes = (): readonly string[] =>
  execFileSync('kubectl', ['get', 'nodes', '-o', 'jsonpath={.items[*].metadata.name}']).toString().trim().split(' ')

describe.skipIf(findNodes().length === 0)('an installation on several nodes under load', () => {
  const release = openRelease()
  const { kubectl, namespace } = release
  const tolerances = new Map<string, Tolerance>()
  let load: Load

  beforeAll(async () => {
    // Two controllers, as recommended for clusters whose nodes change.
    await release.install(['--set', 'controller.replicas=2', '--set', 'dispatcher.replicas=2'])
    load = await startLoad(release)
    await load.phase('load alone')
    await load.untilMoreEnded(10)
  })

  afterAll(async () => {
    for (const node of listNodes()) await run('kubectl', ['uncordon', node])
    await release.end()
  })

  it('serves while each node is drained', async () => {
    for (const node of listNodes()) {
      const there = await kubectl('get', 'pods', '--field-selector', `spec.nodeName=${node}`, '-o', 'name')
      const has = (name: string): boolean => there.includes(`pod/matte-${name}-0`)
      const phase = `drain ${node}`
      // A single-pod server is down while it moves, which may cut a response of the store.
      tolerances.set(phase, {
        outage: has('postgresql') || has('object-store'),
        broken: has('object-store'),
      })
      const begun = performance.now()
      await load.phase(phase)
      await runOrThrow('kubectl', [
        ...['drain', node, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=300s'],
        // Pods of others and the client stay.
        ...['--pod-selector', loadSelector.replace('=', '!=')],
      ])
      await runOrThrow('kubectl', ['uncordon', node])
      await release.untilServing()
      await load.untilMoreEnded(between)
      print(`${phase}: ${secondsSince(begun)}; it had ${there.trim().split('\n').length} pods of ${namespace}`)
    }
  })

  it('lost nothing, repeated nothing, and returned only documented errors', async () => {
    const lines = await load.end()
    printPhases(lines)
    expect(findLossesAndRepeats(lines)).toEqual([])
    expect(findErrors(lines, (phase) => tolerances.get(phase) ?? {})).toEqual([])
    expect(findDifferences(lines)).toEqual([])
    await using database = await connectToDatabase(release)
    expect(await findBrokenRules(database.db)).toEqual({})
  })
})
