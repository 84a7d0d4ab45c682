// An installation with default values: commands of its notes, idle size, start times, Secrets kept by an upgrade, and
// objects left by an uninstall. smoke.test.ts removes the first background.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findMissing, run } from '../chart/helm.ts'
import { readFootprint, readStarts } from './support/footprint.ts'
import { openForward } from './support/forward.ts'
import { openRelease, selectorOf } from './support/release.ts'
import { printTable } from './support/table.ts'

const processes = ['api', 'worker', 'operator', 'dispatcher']

/** Resident megabytes of an idle process. */
const residentMax: Readonly<Record<string, number>> = { api: 150, worker: 200, operator: 150, dispatcher: 100 }

describe.skipIf(findMissing('cluster'))('an installation with no values', () => {
  const release = openRelease()
  const { kubectl, helm, untilServing } = release

  beforeAll(() => release.install())
  afterAll(() => release.end())

  it('has matte-admin, as in the notes', async () => {
    const notes = await helm('get', 'notes', 'matte')
    const command = /Workspaces and keys: (.*)/.exec(notes)?.[1] ?? 'false'
    const { stdout, failed } = await run('sh', ['-ec', command])
    expect({ stdout, failed }).toMatchObject({ failed: false, stdout: expect.stringContaining('workspace create') })
  })

  it('responds through the port-forward in the notes', async () => {
    const notes = await helm('get', 'notes', 'matte')
    const path = /The API is at http:\/\/localhost:8080(\S+),/.exec(notes)?.[1] ?? ''
    const command = /^ {2}kubectl (.* port-forward .*) 8080:80$/m.exec(notes)?.[1] ?? ''
    // Any free port, because 8080 may be in use.
    await using forward = await openForward([...command.split(' '), ':80'])
    const answer = await fetch(`http://127.0.0.1:${forward.port}${path}/openapi.json`)
    expect(await answer.json()).toMatchObject({ openapi: expect.stringMatching(/^3\.1/) })
  })

  it('is small while it is idle', async () => {
    const pods = await readFootprint(release)
    printTable([
      ['idle', 'CPU', 'memory', 'requested CPU', 'requested memory', 'resident'],
      ...pods.map((pod) => [
        pod.name,
        `${pod.cpu}m`,
        `${pod.memory}Mi`,
        pod.cpuRequest,
        pod.memoryRequest,
        pod.resident ?? '',
      ]),
      ['all', `${sum(pods.map(({ cpu }) => cpu))}m`, `${sum(pods.map(({ memory }) => memory))}Mi`, '', '', ''],
    ])
    for (const name of processes) {
      const resident = pods.filter(({ component }) => component === name).map((pod) => pod.resident ?? Infinity)
      expect(resident.length, name).toBeGreaterThan(0)
      expect(Math.max(...resident), name).toBeLessThanOrEqual(residentMax[name] ?? 0)
    }
  })

  it('starts its processes', async () => {
    for (const name of processes) {
      await kubectl('rollout', 'restart', `deploy/matte-${name}`)
      await untilServing()
    }
    const starts = await readStarts(release, processes)
    printTable([['from the start of the container to Ready, in whole seconds', 's'], ...starts])
    expect(starts.length).toBeGreaterThanOrEqual(processes.length)
  })

  it('keeps its Secrets on an upgrade', async () => {
    const before = await kubectl('get', 'secret', 'matte-secrets', '-o', 'jsonpath={.data}')
    await release.upgrade(['--set', 'plans.pro.monthlyQuota=2000'])
    expect(await kubectl('get', 'secret', 'matte-secrets', '-o', 'jsonpath={.data}')).toBe(before)
  })

  it('leaves volumes, Secret and CustomResourceDefinition behind, and no pods', async () => {
    await helm('uninstall', 'matte', '--wait')
    // Except the test pod, which Helm keeps.
    await kubectl('wait', 'pod', '-l', 'app.kubernetes.io/component!=test', '--for=delete', '--timeout=120s')
    expect(await kubectl('get', 'pvc', '-o', 'name')).toMatch(/postgresql-0[\s\S]*|object-store-0/)
    expect(await kubectl('get', 'secret', 'matte-secrets', '-o', 'name')).toContain('matte-secrets')
    expect(await kubectl('get', 'tritonpools', '-o', 'name')).toBe('')
    expect(await kubectl('get', 'pods', '-l', selectorOf('triton'), '-o', 'name')).toBe('')
  })
})

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)
