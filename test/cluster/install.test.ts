// An installation as a new user makes it: with no values, by the commands that its notes print, in a namespace where
// Pod Security enforces `restricted`. This file is the part that `.ci/run` runs; the output has the times and sizes.
import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { chartDir, findMissing, run } from '../chart/helm.ts'
import { photo } from '../support/photos.ts'
import { until } from '../support/until.ts'
import { readFootprint, readStarts } from './support/footprint.ts'
import { openForward } from './support/forward.ts'
import { createNamespace, openRelease, selectorOf } from './support/release.ts'
import { print, printTable, secondsSince } from './support/table.ts'

const processes = ['api', 'controller', 'dispatcher']

/** Resident megabytes of an idle process. */
const residentMax: Readonly<Record<string, number>> = { api: 150, controller: 200, dispatcher: 100 }

describe.skipIf(findMissing('cluster'))('an installation with no values', () => {
  const release = openRelease()
  const { namespace, kubectl, helm, untilServing } = release

  afterAll(() => release.end())

  it('removes a background by the three commands of its notes', async () => {
    await createNamespace(namespace)
    const begun = performance.now()
    const notes = await helm('install', 'matte', chartDir)
    const commands = notes.split('\n').filter((line) => line.startsWith('  kubectl') || line.startsWith('  KEY='))
    const toCutOut = commands.slice(0, 3).join('\n')
    expect(toCutOut).toContain('matte try')
    await run('sh', ['-ec', commands[0] ?? 'false'])
    print(`ready ${secondsSince(begun)} after helm install`)
    const dir = join(tmpdir(), namespace)
    const script = `mkdir ${dir}; cd ${dir}; cat > photo.jpg; ${toCutOut.replace('< photo.jpg', '< ./photo.jpg')}`
    const { stderr, failed } = await run('sh', ['-ec', script], photo('rocket.jpg'))
    print(`first cut-out ${secondsSince(begun)} after helm install (to be below 120 s where the nodes have the images)`)
    expect({ stderr, failed }).toMatchObject({ failed: false, stderr: expect.stringContaining('background removed') })
    expect(readFileSync(join(dir, 'cut-out.png')).subarray(1, 4).toString()).toBe('PNG')
    rmSync(dir, { recursive: true })
  })

  it('passes helm test, which also verifies a webhook', async () => {
    await untilServing()
    expect(await helm('test', 'matte', '--logs')).toContain('webhook received, its signature is right')
  })

  it('has matte-admin, as the notes say', async () => {
    const notes = await helm('get', 'notes', 'matte')
    const command = /Workspaces and keys: (.*)/.exec(notes)?.[1] ?? 'false'
    const { stdout, failed } = await run('sh', ['-ec', command])
    expect({ stdout, failed }).toMatchObject({ failed: false, stdout: expect.stringContaining('workspace create') })
  })

  it('answers behind the port-forward of its notes', async () => {
    const notes = await helm('get', 'notes', 'matte')
    const path = /The API is at http:\/\/localhost:8080(\S+),/.exec(notes)?.[1] ?? ''
    const command = /^ {2}kubectl (.* port-forward .*) 8080:80$/m.exec(notes)?.[1] ?? ''
    // Any free port of this machine, where 8080 may be taken.
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

  it('goes to zero, wakes on a task, and goes back', async () => {
    const scaling = 'triton.pools.demo.scaling'
    await release.upgrade(['--set', `${scaling}.minReplicas=0`, '--set', `${scaling}.stabilizationWindowSeconds=5`])
    const untilZero = (): Promise<true> =>
      until(
        'the pool has no pods',
        async () => {
          const reason = await kubectl('get', 'tritonpool', 'demo', '-o', conditionReason)
          return reason === 'AtZero' && (await release.podsOf('triton')).length === 0
        },
        { timeoutMs: 300_000, everyMs: 500 },
      )
    await untilZero()
    const begun = performance.now()
    const { stderr, failed } = await run('kubectl', [
      ...['-n', namespace, 'exec', 'deploy/matte-api', '--', 'sh', '-c'],
      `matte try --key "$1"`,
      ...['sh', await readKey()],
    ])
    print(`0→1: ${stderr.trim()}`)
    expect({ stderr, failed }).toMatchObject({ failed: false, stderr: expect.stringContaining('background removed') })
    await untilZero()
    print(`0→1→0 took ${secondsSince(begun)}`)
  })

  it('makes no secret again', async () => {
    const before = await kubectl('get', 'secret', 'matte-secrets', '-o', 'jsonpath={.data}')
    await release.upgrade(['--set', 'plans.pro.monthlyQuota=2000'])
    expect(await kubectl('get', 'secret', 'matte-secrets', '-o', 'jsonpath={.data}')).toBe(before)
  })

  it('leaves its volumes, its secret and the definition behind, and nothing that runs', async () => {
    await helm('uninstall', 'matte', '--wait')
    // But the test's own pod, which Helm leaves.
    await kubectl('wait', 'pod', '-l', 'app.kubernetes.io/component!=test', '--for=delete', '--timeout=120s')
    expect(await kubectl('get', 'pvc', '-o', 'name')).toMatch(/postgresql-0[\s\S]*|object-store-0/)
    expect(await kubectl('get', 'secret', 'matte-secrets', '-o', 'name')).toContain('matte-secrets')
    expect(await kubectl('get', 'tritonpools', '-o', 'name')).toBe('')
    expect(await kubectl('get', 'pods', '-l', selectorOf('triton'), '-o', 'name')).toBe('')
  })

  async function readKey(): Promise<string> {
    const key = await kubectl('get', 'secret', 'matte-secrets', '-o', 'jsonpath={.data.MATTE_API_KEY}')
    return Buffer.from(key, 'base64').toString()
  }
})

const conditionReason = 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}'
const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)
