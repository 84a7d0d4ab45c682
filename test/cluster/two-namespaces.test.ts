// Two releases in two namespaces: both serve, and neither changes the other's objects.
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chartDir, findMissing, run } from '../chart/helm.ts'
import { openRelease, type Release } from './support/release.ts'

/** Reduced requests, because two default installations exceed a node of two cores. */
const small = ['api', 'controller', 'operator', 'dispatcher', 'postgresql', 'natsServer', 'versitygw']
  .flatMap((part) => ['--set', `${part}.resources.requests.cpu=20m`])
  .concat(['--set', 'triton.pools.demo.resources.requests.cpu=100m'])

describe.skipIf(findMissing('cluster'))('two releases', () => {
  const first = openRelease()
  const second = openRelease()

  beforeAll(async () => {
    await first.install(small)
  })

  afterAll(async () => {
    await second.end()
    await first.end()
  })

  it('serve side by side', async () => {
    const before = await readState(first)
    await second.install([...small, '-f', join(chartDir, 'examples/second-release.yaml')])
    const passed = await Promise.all([first, second].map((release) => release.helm('test', 'matte', '--logs')))
    for (const output of passed) expect(output).toContain('webhook received, its signature is valid')
    expect(await readState(first)).toEqual(before)
  })

  it('scale only their own pools', async () => {
    const before = await readState(first)
    await second.upgrade([
      ...small,
      ...['-f', join(chartDir, 'examples/second-release.yaml'), '--set', 'triton.pools.demo.scaling.minReplicas=2'],
    ])
    await second.kubectl('wait', 'tritonpool/demo', '--for=jsonpath={.status.readyReplicas}=2', '--timeout=180s')
    expect(await second.podsOf('triton')).toHaveLength(2)
    expect(await readState(first)).toEqual(before)
  })

  it('cannot read each other', async () => {
    const account = `system:serviceaccount:${second.namespace}:matte-operator`
    const may = async (verb: string, what: string, { namespace }: Release): Promise<string> => {
      const { stdout } = await run('kubectl', ['auth', 'can-i', verb, what, '-n', namespace, '--as', account])
      return stdout.trim()
    }
    for (const [verb, what] of rights) {
      expect(await may(verb, what, second), what).toBe('yes')
      expect(await may(verb, what, first), what).toBe('no')
    }
  })

  it('the second serves after the first, which created the CustomResourceDefinition, is uninstalled', async () => {
    const before = await readState(second)
    await first.helm('uninstall', 'matte', '--wait')
    expect(await second.helm('test', 'matte', '--logs')).toContain('webhook received, its signature is valid')
    expect(await readState(second)).toEqual(before)
  })
})

/** Permissions that an operator has in its own namespace. */
const rights = [
  ['list', 'tritonpools.matte.dev'],
  ['patch', 'pods'],
  ['delete', 'deployments.apps'],
  ['update', 'leases.coordination.k8s.io/matte-controller'],
] as const

/** State that the other release must not change: pods with their restarts, and the pool's generation. */
async function readState({ kubectl, namespace }: Release): Promise<readonly string[]> {
  const pods =
    '{range .items[*]}{.metadata.uid} {.metadata.name} {.status.containerStatuses[0].restartCount}{"\\n"}{end}'
  const others = 'app.kubernetes.io/component notin (test)'
  const lines = [
    await kubectl('get', 'pods', '-l', others, '-o', `jsonpath=${pods}`),
    await kubectl(
      'get',
      'tritonpools',
      '-o',
      'jsonpath={range .items[*]}{.metadata.uid} {.metadata.generation}{"\\n"}{end}',
    ),
  ]
  return [namespace, ...lines.join('').trim().split('\n').sort()]
}
