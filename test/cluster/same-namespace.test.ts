// Two releases in one namespace: Helm rejects the second until its values separate it, and then both serve.
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chartDir, findMissing, run } from '../chart/helm.ts'
import { openRelease } from './support/release.ts'

const example = ['-f', join(chartDir, 'examples/same-namespace.yaml')]
/** Reduced requests, because two default installations exceed a node of two cores. */
const small = ['api', 'controller', 'operator', 'dispatcher', 'postgresql', 'natsServer', 'versitygw']
  .flatMap((part) => ['--set', `${part}.resources.requests.cpu=20m`])
  .concat(['--set', 'api.replicas=1', '--set', 'operator.replicas=1'])
const cpuOf = (pool: string) => ['--set', `triton.pools.${pool}.resources.requests.cpu=100m`]

describe.skipIf(findMissing('cluster'))('a second release in the namespace', () => {
  const first = openRelease()
  const { namespace, kubectl, helm } = first
  const install = (...args: string[]) =>
    run('helm', ['install', 'second', ...first.chart, '-n', namespace, ...small, ...args])

  beforeAll(() => first.install([...small, ...cpuOf('demo')]))
  afterAll(async () => {
    await run('helm', ['uninstall', 'second', '-n', namespace])
    await first.end()
  })

  const objects = () => kubectl('get', 'deploy,configmap,job', '-o', 'name')

  it('is rejected with the default values, before any object is created', async () => {
    const before = await objects()
    const { failed, stderr } = await install()
    expect(failed).toBe(true)
    expect(stderr).toMatch(/ConfigMap "matte-unlabelled-pools" .*cannot be imported into the current release/)
    expect(await objects()).toBe(before)
  })

  it('serves next to the first one with the values of the example', async () => {
    const uids = () => kubectl('get', 'pods', '-l', 'matte.dev/pool=demo', '-o', 'jsonpath={.items[*].metadata.uid}')
    const before = await uids()
    expect(await install(...example, ...cpuOf('second'))).toMatchObject({ failed: false })
    await kubectl('wait', 'job', '--all', '--for=condition=Complete', '--timeout=240s')
    await kubectl('rollout', 'status', 'deploy/second-matte-api', '--timeout=240s')
    await kubectl('wait', 'tritonpool/second', '--for=create', '--timeout=120s')
    await kubectl('wait', 'tritonpool/second', '--for=condition=Ready', '--timeout=240s')
    expect(await helm('test', 'second', '--logs')).toContain('webhook received, its signature is valid')
    expect(await helm('test', 'matte', '--logs')).toContain('webhook received, its signature is valid')
    const labels = await kubectl(
      'get',
      'pods',
      '-l',
      'matte.dev/release=second-matte',
      '-o',
      'jsonpath={.items[*].metadata.labels.matte\\.dev/pool}',
    )
    expect(labels).toBe('second')
    expect(await kubectl('get', 'lease', '-o', 'jsonpath={.items[*].metadata.name}')).toBe(
      'matte-controller second-matte-operator',
    )
    expect(await uids()).toBe(before)
  })

  it('is uninstalled, and the first one keeps serving', async () => {
    await helm('uninstall', 'second', '--wait')
    expect(await kubectl('get', 'tritonpools', '-o', 'jsonpath={.items[*].metadata.name}')).toBe('demo')
    expect(await helm('test', 'matte', '--logs')).toContain('webhook received, its signature is valid')
  })
})
