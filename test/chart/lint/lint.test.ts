// Lint, helm-unittest, and rejected values.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { chartDir, run, runOrThrow } from '../helm.ts'
import { findHelms, lacks } from './programs.ts'

const examplesDir = join(chartDir, 'examples')
const examples = readdirSync(examplesDir).filter((file) => file.endsWith('.yaml'))

const refusals: readonly (readonly [values: string, words: string])[] = [
  ['api.replica=3', 'did you mean replicas?'],
  ['mod=demo', 'did you mean mode?'],
  ['dispatcher.pod.nodeselector.a=b', 'did you mean nodeSelector?'],
  ['controller.tolerations=x', 'write controller.pod.tolerations'],
  ['replicaCount=3', 'write api.replicas, controller.replicas or dispatcher.replicas'],
  ['postgresql.enabled=false', 'write database.builtIn'],
  ['global.imageRegistry=mirror.example.com', 'write image.registry'],
  ['somethingElse=1', "'somethingElse' not allowed"],
  ['api.replicas=0', "at '/api/replicas': minimum: got 0, want 1"],
  ['api.replicas=two', "at '/api/replicas': got string, want integer"],
  ['mode=prod', "at '/mode': value must be one of 'demo', 'production'"],
  ['publicUrl=matte.example.com', "at '/publicUrl'"],
  ['image.digest=latest', "at '/image/digest'"],
  ['models.allowedLicences={*,MIT}', "at '/models/allowedLicences'"],
]

for (const { name, program, missing } of findHelms('lint/lint.test.ts')) {
  describe.skipIf(missing)(`the chart, by ${name}`, () => {
    it('passes lint --strict', async () => {
      await runOrThrow(program, ['lint', '--strict', chartDir])
    })

    it.each(examples)('passes lint --strict with %s, and renders', async (file) => {
      await runOrThrow(program, ['lint', '--strict', chartDir, '-f', join(examplesDir, file)])
      const text = await runOrThrow(program, ['template', 'matte', chartDir, '-f', join(examplesDir, file)])
      expect(parseAllDocuments(text).length).toBeGreaterThan(10)
    })

    it.each(refusals)('rejects %s with: %s', async (values, words) => {
      const { stderr, failed } = await run(program, ['template', 'matte', chartDir, '--set', values])
      expect(failed).toBe(true)
      expect(stderr).toContain(words)
    })
  })
}

describe.skipIf(lacks('helm-unittest', ['--help'], 'lint/lint.test.ts by helm-unittest'))('by helm-unittest', () => {
  it('passes its suites with unchanged snapshots', async () => {
    expect(await runOrThrow('helm-unittest', ['--strict', chartDir])).toMatch(/Tests: +[1-9]\d* passed, \d+ total/)
  })
})

type Issued = { readonly spec: { readonly secretName?: string } }

describe('the manifests beside the examples', () => {
  const read = (file: string): readonly unknown[] =>
    parseAllDocuments(readFileSync(join(examplesDir, file), 'utf8')).map((document) => document.toJS() as unknown)

  it('create the Secrets named in production-cloudnativepg.yaml', () => {
    const [production] = read('production-cloudnativepg.yaml')
    const [cluster] = read('manifests/cloudnative-pg.yaml')
    const [nats] = read('manifests/nats-values.yaml')
    const name = (cluster as { metadata: { name: string } }).metadata.name
    expect(production).toMatchObject({ database: { existingSecret: { name: `${name}-app`, key: 'uri' } } })
    const issued = read('manifests/certificates.yaml').flatMap((each) => (each as Issued).spec.secretName ?? [])
    expect(issued).toEqual(['matte-authority', 'matte-db-tls', 'nats-tls'])
    expect(production).toMatchObject({ trustedAuthorities: { secret: 'matte-authority' } })
    expect(cluster).toMatchObject({
      spec: { certificates: { serverTLSSecret: 'matte-db-tls', serverCASecret: 'matte-db-tls' } },
    })
    expect(nats).toMatchObject({ config: { nats: { tls: { enabled: true, secretName: 'nats-tls' } } } })
    const { NATS_PASSWORD } = (nats as { container: { env: Record<string, unknown> } }).container.env
    const { name: natsSecret } = (production as { nats: { existingSecret: { name: string } } }).nats.existingSecret
    expect(NATS_PASSWORD).toEqual({ valueFrom: { secretKeyRef: { name: natsSecret, key: 'password' } } })
  })

  it('create the volume and pull the images named by the pools', () => {
    const nodes = JSON.stringify(read('manifests/gpu-nodes.yaml'))
    for (const file of ['gpu.yaml', 'gpu-pools.yaml']) {
      const [values] = read(file)
      for (const [, claim] of JSON.stringify(values).matchAll(/"claimName":"([^"]+)"/g)) {
        expect(nodes).toContain(`"name":"${claim}"`)
      }
      for (const [, image] of JSON.stringify(values).matchAll(/"image":"(nvcr[^"]+)"/g)) {
        expect(nodes).toContain(`"image":"${image}"`)
      }
    }
  })
})
