// Upgrades from the previous chart, as `ct install --upgrade` does, with both major versions of Helm: the release keeps
// serving with its API key and passes its own test.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { builderVersion } from '@matte/controller/operator/specs/build-record'
import { afterAll, describe, expect, it } from 'vitest'
import { chartDir, findMissing, run, runOrThrow } from '../chart/helm.ts'
import { findHelms, starts } from '../chart/lint/programs.ts'
import { tritonImage, version } from '../image/image-names.ts'
import { reportSkip } from '../support/report/skips.ts'
import { untilPoolsReady } from './pools-ready.ts'
import { checkOutChart, findPreviousChart } from './previous-chart.ts'

const here = 'cluster/upgrade.test.ts'
const previous = findPreviousChart()
if (previous === undefined)
  reportSkip({ matching: here, reason: 'there is no chart of another version in the history' })
const missing = findMissing('cluster')
if (missing !== undefined) reportSkip({ matching: here, reason: missing })
const definition = ['crd', 'tritonpools.matte.dev']
/** Skips a CustomResourceDefinition of another owner, because Helm would conflict with its fields. */
const hadDefinition = missing === undefined && starts('kubectl', ['get', ...definition])

const values = hadDefinition ? ['--set', 'crds.enabled=false'] : []
/** Image under test, unless it is the chart's default. */
const tag = process.env.MATTE_IMAGE_TAG ?? version
const presentPools = ['--set', `triton.pools.demo.image=${tritonImage}`]
/** The previous chart runs the current images, because the cluster has no others. */
const presentImages = [
  ...['--set', 'image.repository=localhost/matte/matte', '--set', `image.tag=${tag}`],
  ...presentPools,
]

function installation(program: string) {
  const namespace = `matte-upgrade-${randomBytes(3).toString('hex')}`
  const kubectl = (...args: string[]): Promise<string> => runOrThrow('kubectl', ['-n', namespace, ...args])
  const helm = (...args: string[]): Promise<string> => runOrThrow(program, [...args, '-n', namespace])
  const wait = (what: readonly string[], condition: string): Promise<string> =>
    kubectl('wait', ...what, `--for=condition=${condition}`, '--timeout=240s')
  return {
    namespace,
    kubectl,
    helm,
    key: async (): Promise<string> => {
      const coded = await kubectl('get', 'secret', 'matte-secrets', '-o', 'jsonpath={.data.MATTE_API_KEY}')
      return Buffer.from(coded, 'base64').toString()
    },
    start: async (chart: string): Promise<void> => {
      await runOrThrow('kubectl', ['create', 'namespace', namespace])
      await runOrThrow('kubectl', ['label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted'])
      await helm('install', 'matte', chart, ...values, ...presentImages)
    },
    untilServing: async (): Promise<void> => {
      for (const owner of (await kubectl('get', 'deploy,statefulset', '-o', 'name', '-l', 'helm.sh/chart')).split(
        /\s+/,
      )) {
        if (owner !== '') await kubectl('rollout', 'status', owner, '--timeout=240s')
      }
      await wait(['job', '--all'], 'Complete')
      await untilPoolsReady(kubectl)
    },
    tritonPods: (): Promise<string> =>
      kubectl('get', 'pods', '-l', 'matte.dev/pool', '-o', 'jsonpath={.items[*].metadata.uid}'),
    /** Whether the upgraded operator has reconciled every pool: the status has a field that only its version writes. */
    untilLed: async (): Promise<void> => {
      const newest = `jsonpath={.status.newestBuilder}=${builderVersion}`
      await kubectl('wait', 'tritonpool', '--all', `--for=${newest}`, '--timeout=240s')
      await wait(['tritonpool', '--all'], 'Progressing=False')
    },
    removeBackground: async (key: string): Promise<string> => {
      const exec = ['-n', namespace, 'exec', 'deploy/matte-api', '--', 'matte', 'try', '--key', key]
      return (await run('kubectl', exec)).stderr
    },
    remove: async (): Promise<void> => {
      await run(program, ['uninstall', 'matte', '-n', namespace, '--wait'])
      await run('kubectl', ['delete', 'namespace', namespace, '--wait=true', '--timeout=180s'])
      if (!hadDefinition) await run('kubectl', ['delete', ...definition, '--wait=true'])
    },
  }
}

for (const { name, program, missing: noHelm } of findHelms(here)) {
  describe.skipIf(missing !== undefined || previous === undefined || noHelm)(`an upgrade by ${name}`, () => {
    const dir = mkdtempSync(join(tmpdir(), 'matte-previous-'))
    const release = installation(program)
    afterAll(async () => {
      await release.remove()
      rmSync(dir, { recursive: true })
    })

    it(`from chart ${previous?.version} keeps serving, and passes its own test`, async () => {
      if (previous === undefined) throw new Error('there is no chart before')
      const { helm, kubectl, key, start, untilServing, removeBackground } = release
      await start(checkOutChart(previous, dir))
      await untilServing()
      const before = await key()
      expect(await removeBackground(before)).toContain('background removed in')
      const volumes = await kubectl('get', 'pvc', '-o', 'jsonpath={.items[*].metadata.uid}')
      const ownerOfPool = () =>
        kubectl('get', 'tritonpool', 'demo', '-o', 'jsonpath={.metadata.ownerReferences[*].kind}')
      expect(await ownerOfPool()).toBe('ConfigMap')
      const pods = await release.tritonPods()

      // The pools of the previous values, so any moved pod is caused by the operator.
      const present = [...values, ...presentPools, '--set', `image.tag=${tag}`]
      await helm('upgrade', 'matte', chartDir, '--reset-values', ...present)
      await untilServing()
      await release.untilLed()
      expect(await release.tritonPods()).toBe(pods)
      expect(await key()).toBe(before)
      expect(await removeBackground(before)).toContain('background removed in')
      expect(await helm('test', 'matte', '--logs')).toContain('webhook received, its signature is valid')
      expect(await kubectl('get', 'pvc', '-o', 'jsonpath={.items[*].metadata.uid}')).toBe(volumes)
      expect(await ownerOfPool()).toBe('')
      expect(await helm('list', '-o', 'json')).toMatch(/"revision":"2".*"status":"deployed"/)
    })

    it('rolls back', async () => {
      const { helm, key, untilServing, removeBackground } = release
      await helm('rollback', 'matte', '1')
      await untilServing()
      expect(await removeBackground(await key())).toContain('background removed in')
    })
  })
}
