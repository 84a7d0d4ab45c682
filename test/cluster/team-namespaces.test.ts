// A release with a team's pool in a namespace of its values: an image is processed there, through the NetworkPolicies
// of both namespaces, and unrelated pods cannot reach the team's pods.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findMissing, run, runOrThrow } from '../chart/helm.ts'
import { photo } from '../support/photos.ts'
import { all, reach } from './support/connections.ts'
import { cutOutInside } from './support/cut-out.ts'
import { buildPod, imageOf } from './support/pod.ts'
import { createNamespace, deleteNamespace, openRelease } from './support/release.ts'

describe.skipIf(findMissing('cluster'))('a pool of a team', () => {
  const release = openRelease()
  const team = `matte-cluster-${randomBytes(3).toString('hex')}`
  const inTeam = (args: readonly string[], input?: string): Promise<string> =>
    runOrThrow('kubectl', ['-n', team, ...args], input)

  beforeAll(async () => {
    await createNamespace(team)
    await release.install(['--set', `operator.namespaces={${team}}`])
  })

  afterAll(async () => {
    await run('kubectl', ['-n', team, 'delete', 'tritonpools', '--all'])
    await release.end()
    await deleteNamespace(team)
  })

  it("processes an image in the team's namespace", async () => {
    const demo = JSON.parse(await release.kubectl('get', 'tritonpool', 'demo', '-o', 'json'))
    const [model] = demo.spec.models
    const { image, imagePullPolicy, resources } = demo.spec
    const models = [{ ...model, modelVersion: 'portraits', default: false }]
    const spec = { image, imagePullPolicy, resources, models, scaling: { minReplicas: 1, maxReplicas: 1 } }
    const pool = { apiVersion: 'matte.dev/v1alpha1', kind: 'TritonPool', metadata: { name: 'portraits' }, spec }
    await inTeam(['create', '-f', '-'], JSON.stringify(pool))
    await inTeam(['wait', 'tritonpool/portraits', '--for=condition=Ready', '--timeout=240s'])
    const apiKey = Buffer.from(
      await release.kubectl('get', 'secret', 'matte-secrets', '-o', 'jsonpath={.data.MATTE_API_KEY}'),
      'base64',
    ).toString()
    const { task, png } = await cutOutInside(release, { apiKey, modelVersion: 'portraits', photo: photo('rocket.jpg') })
    expect(task).toMatchObject({ status: 'succeeded', modelVersion: 'portraits' })
    expect(Buffer.from(png, 'base64').subarray(1, 4).toString()).toBe('PNG')
    const pods = await inTeam(['get', 'pods', '-l', 'matte.dev/pool=portraits', '-o', 'name'])
    expect(pods.trim().split('\n')).toHaveLength(1)
  })

  it("is reachable by the release's worker and operator, and by no other pod of its namespace", async () => {
    const name = 'stranger'
    const stranger = buildPod({
      name,
      image: await imageOf(release),
      labels: { app: name },
      command: ['sleep', 'infinity'],
    })
    await inTeam(['create', '-f', '-'], JSON.stringify(stranger))
    await inTeam(['wait', 'pod/stranger', '--for=condition=Ready', '--timeout=60s'])
    const address = await inTeam(['get', 'pods', '-l', 'matte.dev/pool', '-o', 'jsonpath={.items[0].status.podIP}'])
    const inference = [`${address}:8001`] as const
    for (const process of ['worker', 'operator']) {
      expect(await reach(release.namespace, `deploy/matte-${process}`, inference), process).toEqual(
        all(inference, 'open'),
      )
    }
    expect(await reach(release.namespace, 'deploy/matte-dispatcher', inference)).toEqual(all(inference, 'dropped'))
    expect(await reach(team, 'stranger', inference)).toEqual(all(inference, 'dropped'))
  })
})
