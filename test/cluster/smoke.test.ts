// Smoke test of the chart: an installation with default values, by the commands of its notes, in a namespace where Pod
// Security enforces `restricted`. `.ci/run` runs this file.
import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { chartDir, findMissing, run } from '../chart/helm.ts'
import { photo } from '../support/photos.ts'
import { until } from '../support/until.ts'
import { createNamespace, openRelease } from './support/release.ts'
import { print, secondsSince } from './support/table.ts'

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
    expect(await helm('test', 'matte', '--logs')).toContain('webhook received, its signature is valid')
  })

  it('scales to zero, wakes for a task, and returns to zero', async () => {
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

  async function readKey(): Promise<string> {
    const key = await kubectl('get', 'secret', 'matte-secrets', '-o', 'jsonpath={.data.MATTE_API_KEY}')
    return Buffer.from(key, 'base64').toString()
  }
})

const conditionReason = 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}'
