import { describe, expect, it } from 'vitest'
import { buildCrd, printerColumns, type Schema, scalePaths } from './crd.ts'
import { withDefaults } from './triton-pool.ts'

const schema: Schema = buildCrd().spec.versions[0]?.schema.openAPIV3Schema ?? {}

/** The schema of the field at a path of a column; undefined when there is none. */
function resolve(path: string): Schema | undefined {
  const steps = path.matchAll(/\.([A-Za-z0-9]+)|\[\?\(@\.(\w+)=="[^"]*"\)\]/g)
  return [...steps].reduce((at: Schema | undefined, [, field, key]) => {
    if (field !== undefined) return at?.properties?.[field]
    return key !== undefined && at?.items?.properties?.[key] ? at.items : undefined
  }, schema)
}

type Field = { readonly path: string; readonly schema: Schema }

function listFields(at: Schema, path: string): Field[] {
  const children = [
    ...Object.entries(at.properties ?? {}),
    ...(at.items ? [['[]', at.items] as const] : []),
    ...(at.additionalProperties ? [['*', at.additionalProperties] as const] : []),
  ]
  return children.flatMap(([name, child]) => {
    const own = `${path}.${name}`
    return [{ path: own, schema: child }, ...listFields(child, own)]
  })
}

const fieldsOf = (part: 'spec' | 'status'): Field[] => listFields(schema.properties?.[part] ?? {}, part)

describe('the definition of TritonPool', () => {
  it.each(printerColumns.filter(({ type }) => type !== 'date'))('has the field of column $name', (column) => {
    expect(resolve(column.jsonPath)).toMatchObject({ type: column.type })
  })

  it('reads the age from metadata', () => {
    expect(printerColumns.find(({ type }) => type === 'date')?.jsonPath).toBe('.metadata.creationTimestamp')
  })

  it('detects a column without its field', () => {
    expect(resolve('.status.gone')).toBeUndefined()
    expect(resolve('.status.conditions[?(@.gone=="Ready")].status')).toBeUndefined()
  })

  it.each(Object.entries(scalePaths))('has the field of the scale subresource: %s', (name, path) => {
    const type = name === 'labelSelectorPath' ? 'string' : 'integer'
    expect(resolve(path)).toMatchObject({ type })
  })

  it('describes every field', () => {
    const fields = [...fieldsOf('spec'), ...fieldsOf('status')]
    // The values of a map and Kubernetes' own toleration need no description; a quantity is described by its parent.
    const silent = fields.filter(({ path, schema }) => !schema.description && !path.endsWith('.*'))
    expect(silent.map(({ path }) => path)).toEqual([])
  })

  it('documents range and default of every number in spec', () => {
    const numbers = fieldsOf('spec').filter(({ schema }) => schema.type === 'integer' || schema.type === 'number')
    const wrong = numbers.filter(({ schema: { description = '', minimum, maximum, default: fallback } }) => {
      const range = description.includes(`${minimum} to ${maximum}`)
      return !range || (fallback !== undefined && !description.includes(`Default ${fallback}`))
    })
    expect(wrong.map(({ path, schema }) => `${path}: ${schema.description}`)).toEqual([])
  })

  it('requires only models', () => {
    expect(schema.properties?.spec?.required).toEqual(['models'])
    expect(schema.properties?.spec?.properties?.models?.items?.required).toEqual(['name', 'modelVersion', 'source'])
  })

  it('requires only the list keys in a status', () => {
    const asked = fieldsOf('status').filter(({ schema }) => schema.required)
    expect(asked.map(({ path, schema }) => [path, schema.required])).toEqual([
      ['status.conditions.[]', ['type']],
      ['status.models.[]', ['name']],
    ])
  })

  it('expands the default of every parent to all its fields, which its rules need', () => {
    const parents = fieldsOf('spec').filter(({ schema }) => schema.properties && schema.default !== undefined)
    expect(parents.map(({ path }) => path)).toContain('spec.scaling.fallback')
    for (const { schema } of parents) {
      const own = Object.entries(schema.properties ?? {}).filter(([, field]) => field.default !== undefined)
      expect(schema.default).toEqual(Object.fromEntries(own.map(([name, field]) => [name, field.default])))
    }
  })
})

const model = { name: 'u2netp', modelVersion: 'u2netp', source: { imagePath: '/models' } }

describe('withDefaults', () => {
  it('fills in omitted fields and keeps the others', () => {
    const spec = withDefaults({ models: [model], scaling: { minReplicas: 0, target: { p95Seconds: 5 } } })
    expect(spec.scaling).toMatchObject({
      owner: 'matte',
      minReplicas: 0,
      maxReplicas: 10,
      target: { p95Seconds: 5, utilization: 0.75 },
      fallback: { afterSeconds: 30, replicas: 0 },
    })
    expect(spec.models[0]?.default).toBe(false)
    expect(spec.drain).toEqual({ routeStopSeconds: 5, exitTimeoutSeconds: 30, graceSeconds: 45 })
  })

  it('changes neither its input nor an earlier result', () => {
    const input = { models: [model] }
    const first = withDefaults(input)
    first.rollout.steps.pop()
    first.resources.requests.cpu = '9'
    expect(input).toEqual({ models: [model] })
    expect(withDefaults(input).rollout.steps).toHaveLength(2)
    expect(withDefaults(input).resources.requests.cpu).toBe('1')
  })
})
