// A pool with an image that no node has: `helm test` names the pod and the command that loads the image.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chartDir, findMissing, run } from '../chart/helm.ts'
import { createNamespace, openRelease } from './support/release.ts'

describe.skipIf(findMissing('cluster'))('an installation whose pool lacks its image', () => {
  const release = openRelease()
  const { helm, kubectl, namespace } = release

  beforeAll(async () => {
    await createNamespace(namespace)
    await helm('install', 'matte', chartDir, '--set', 'triton.pools.demo.image=localhost/matte/absent:1')
    await kubectl('rollout', 'status', 'deploy/matte-api', '--timeout=240s')
  })

  afterAll(() => release.end())

  it('fails helm test with the name of the pod and the command that loads it', async () => {
    const { stdout, stderr, failed } = await run('helm', ['test', 'matte', '--logs', '-n', namespace])
    expect(failed).toBe(true)
    expect(stdout + stderr).toMatch(/pod demo-\S+ cannot pull localhost\/matte\/absent:1 .*kind load docker-image/)
  })
})
