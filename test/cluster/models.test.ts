// Adds a second model as a user would: by `make model-add`, from a volume, served first by a separate pool and then
// next to u2netp, chosen by each task. A tiny network by default; MATTE_TEST_ISNET=1 uses IS-Net (113 MB).
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fetchIsnet } from '@matte/local/models/isnet'
import { sayToTerminal } from '@matte/local/say'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findMissing, run, runOrThrow } from '../chart/helm.ts'
import { matteImage, tritonImage } from '../image/image-names.ts'
import { addModels, makeGraphs } from '../models/add-models.ts'
import { photo } from '../support/photos.ts'
import { cutOutInside } from './support/cut-out.ts'
import { buildPod, testLabels } from './support/pod.ts'
import { createNamespace, openRelease } from './support/release.ts'

const isIsnet = process.env.MATTE_TEST_ISNET === '1'
const added = isIsnet ? 'isnet-general' : 'one-image'

describe.skipIf(findMissing('cluster'))('an added model', () => {
  const release = openRelease()
  const { namespace, kubectl } = release
  const folder = mkdtempSync(join(tmpdir(), 'matte-cluster-models-'))
  let apiKey = ''

  beforeAll(async () => {
    await makeModel(join(folder, 'models'))
    await createNamespace(namespace)
    await fillVolume()
  })
  afterAll(async () => {
    await release.end()
    rmSync(folder, { recursive: true })
  })

  it('serves tasks from a separate pool', async () => {
    await release.helm('install', 'matte', 'charts/matte', ...small, '--set-json', `triton.pools.fine=${fine()}`)
    await release.untilServing()
    const command = ['exec', 'deploy/matte-api', '--', 'matte-admin', 'workspace', 'create', '--name', 'models']
    const made = await kubectl(...command, '--plan', 'enterprise', '--credits', '1000', '--json')
    apiKey = (JSON.parse(made) as { apiKey: string }).apiKey
    expect(await poolsOfModels()).toEqual({ demo: ['u2netp'], fine: ['fine-1'] })
    await expectBothServe()
    const read = "process.stdout.write(String(fs.readFileSync('/proc/cpuinfo', 'utf8').includes('amx_bf16')))"
    const hasAmx = (await kubectl('exec', 'deploy/matte-api', '--', 'node', '-e', read)) === 'true'
    const forms = await kubectl('get', 'tritonpool/fine', '-o', 'jsonpath={.status.models[*].forms[*].form}')
    expect(forms).toBe(hasAmx ? 'bf16' : isIsnet ? 'fp16' : 'fp32')
  })

  it('serves next to u2netp in one pool', async () => {
    const two = `[${ownModel},${JSON.stringify(model)}]`
    const limits = ['--set', `triton.pools.demo.resources.limits.memory=${isIsnet ? '4Gi' : '2Gi'}`]
    await release.upgrade([...small, ...limits, '--set-json', `triton.pools.demo.models=${two}`])
    expect(await poolsOfModels()).toEqual({ demo: ['u2netp', 'fine-1'] })
    // The separate pool is gone, so no pod serves the model until this pool's new revision is ready.
    await kubectl('wait', 'tritonpool/demo', '--for=jsonpath={.status.models[1].active.state}=Loaded', '--timeout=240s')
    await expectBothServe()
  })

  async function expectBothServe(): Promise<void> {
    const bytes = await sharp(photo('lemur.png')).removeAlpha().jpeg().toBuffer()
    const ask = (modelVersion: string) => cutOutInside(release, { apiKey, modelVersion, photo: bytes })
    const [own, other] = await Promise.all([ask('u2netp'), ask('fine-1')])
    for (const [modelVersion, { task }] of [['u2netp', own] as const, ['fine-1', other] as const]) {
      expect(task).toMatchObject({ status: 'succeeded', modelVersion })
    }
    expect(own.png.length).toBeGreaterThan(10_000)
    expect(other.png.length).toBeGreaterThan(10_000)
    expect(own.png).not.toBe(other.png)
  }

  async function poolsOfModels(): Promise<Record<string, string[]>> {
    const { items } = JSON.parse(await kubectl('get', 'tritonpools', '-o', 'json')) as {
      items: { metadata: { name: string }; spec: { models: { modelVersion: string }[] } }[]
    }
    return Object.fromEntries(
      items.map(({ metadata, spec }) => [metadata.name, spec.models.map(({ modelVersion }) => modelVersion)]),
    )
  }

  async function fillVolume(): Promise<void> {
    await release.create({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'models' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    })
    const pod = buildPod({
      name: 'loader',
      image: matteImage,
      labels: testLabels,
      command: ['sleep', '600'],
      volumes: [{ name: 'models', persistentVolumeClaim: { claimName: 'models' } }],
      volumeMounts: [{ name: 'models', mountPath: '/models' }],
    }) as { spec: { securityContext: object } }
    Object.assign(pod.spec.securityContext, { fsGroup: 10_001 })
    await release.create(pod)
    await kubectl('wait', 'pod/loader', '--for=condition=Ready', '--timeout=120s')
    const pack = `tar -C ${join(folder, 'models')} -c ${added}`
    await runOrThrow('sh', ['-ec', `${pack} | kubectl -n ${namespace} exec -i loader -- tar -C /models -x`])
    await run('kubectl', ['-n', namespace, 'delete', 'pod', 'loader', '--wait=false'])
  }

  async function makeModel(target: string): Promise<void> {
    const wish = ['--name', added, '--model-version', 'fine-1', '--target', target]
    const answers = isIsnet ? await addIsnet(wish) : await addTiny(wish)
    expect(answers).toMatchObject([{ failed: false }])
  }

  async function addTiny(wish: readonly string[]) {
    const graphs = join(folder, 'graphs')
    mkdirSync(graphs)
    await makeGraphs(graphs)
    return addModels([
      [join(graphs, 'one-image.onnx'), ...wish, '--licence', 'MIT', '--bf16', '--mean', '0', '--std', '1'],
    ])
  }
})

async function addIsnet(wish: readonly string[]) {
  const { file } = await fetchIsnet(sayToTerminal)
  const network = ['--mean', '.5', '--std', '1', '--scale', '256', '--output', 'output', '--bf16']
  return addModels([[file, ...wish, '--licence', 'Apache-2.0', ...network]])
}

const ownModel =
  '{"name":"u2netp","modelVersion":"u2netp","default":true,"licence":"Apache-2.0","source":{"imagePath":"/models"}}'
const model = { name: added, modelVersion: 'fine-1', source: { persistentVolumeClaim: { claimName: 'models' } } }

const fine = (): string =>
  JSON.stringify({
    image: tritonImage,
    models: [model],
    resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: isIsnet ? '3Gi' : '1Gi' } },
    scaling: { minReplicas: 1, maxReplicas: 1 },
  })

const small = [
  ...['api', 'controller', 'operator', 'dispatcher'].flatMap((part) => ['--set', `${part}.resources.requests.cpu=20m`]),
  ...['--set', 'triton.pools.demo.resources.requests.cpu=100m'],
  // Without traffic, the steps of a rollout take twenty minutes.
  ...['--set-json', 'triton.pools.demo.rollout={"steps":[]}'],
  // IS-Net takes seconds of a core.
  ...['--set-json', 'controller.pod.extraEnv=[{"name":"INFERENCE_TIMEOUT_MS","value":"120000"}]'],
]
