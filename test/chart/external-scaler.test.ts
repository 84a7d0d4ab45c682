// Validates charts/matte/examples/external-scaler against its schemas. test/e2e/external-scaler.test.ts shows that the
// objects scale a pool.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { findKedaDefinitions, kedaModule } from '../support/keda/definitions.ts'
import { reportSkip } from '../support/report/skips.ts'
import { chartDir, findMissing, render, run } from './helm.ts'

const example = (file: string) => readFileSync(join(chartDir, 'examples/external-scaler', file), 'utf8')

describe.skipIf(findMissing('helm'))('the pool of an external scaler', () => {
  it('is the one named by the scalers, with an external owner', async () => {
    const { manifests, refusal } = await render({}, ['-f', join(chartDir, 'examples/external-scaler.yaml')])
    expect(refusal).toBe('')
    const { data = {} } = manifests.find(({ metadata }) => metadata.name === 'matte-pools') ?? {}
    for (const file of ['hpa.yaml', 'keda.yaml']) {
      const { scaleTargetRef } = parse(example(file)).spec
      expect(scaleTargetRef).toMatchObject({ apiVersion: 'matte.dev/v1alpha1', kind: 'TritonPool' })
      expect(JSON.parse(data[scaleTargetRef.name] ?? 'null'), file).toMatchObject({ scaling: { owner: 'external' } })
    }
  })
})

type Schema = { [key: string]: unknown; type?: string; properties?: Record<string, Schema>; items?: Schema }

/** Rejects unknown fields, which the API server would drop silently. */
function close(schema: Schema): Schema {
  const { properties, items, additionalProperties } = schema
  const inner = properties && Object.entries(properties).map(([name, of]) => [name, close(of)])
  return {
    ...schema,
    ...(items && { items: close(items) }),
    ...(inner && { properties: Object.fromEntries(inner), additionalProperties: additionalProperties ?? false }),
  }
}

const definitions = findKedaDefinitions()
const conforming = await run('kubeconform', ['-v'])
const missing = typeof definitions === 'string' ? definitions : conforming.failed ? 'kubeconform is not in $PATH' : ''
if (missing !== '') reportSkip({ matching: 'the ScaledObject', reason: missing })

describe.skipIf(missing !== '')('the ScaledObject', () => {
  const folder = mkdtempSync(join(tmpdir(), 'matte-keda-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  beforeAll(() => {
    if (typeof definitions === 'string') return
    for (const { spec } of definitions) {
      for (const { name, schema } of spec.versions) {
        const file = `${spec.names.kind}_${spec.group}_${name}.json`.toLowerCase()
        writeFileSync(join(folder, file), JSON.stringify(close(schema.openAPIV3Schema as Schema)))
      }
    }
  })
  const conform = (manifest: string) => {
    const location = `${folder}/{{.ResourceKind}}_{{.Group}}_{{.ResourceAPIVersion}}.json`
    return run('kubeconform', ['-strict', '-summary', '-schema-location', location, '-'], manifest)
  }

  it.each([
    ['external-scaler/keda.yaml', 1],
    ['autoscaling/keda.yaml', 2],
  ])(`of %s is one of ${kedaModule}`, async (file, count) => {
    const { stdout, failed } = await conform(readFileSync(join(chartDir, 'examples', file), 'utf8'))
    expect(stdout).toContain(`Valid: ${count}`)
    expect(failed).toBe(false)
  })

  it.each([
    ['an unknown key', { cooldownSeconds: 90 }],
    ['a number as text', { maxReplicaCount: '12' }],
    ['a fallback without its number of failures', { fallback: { replicas: 2 } }],
  ])('would be rejected with %s', async (_, wrong) => {
    const object = parse(example('keda.yaml'))
    expect((await conform(stringify({ ...object, spec: { ...object.spec, ...wrong } }))).failed).toBe(true)
  })
})
