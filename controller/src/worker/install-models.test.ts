import { describe, expect, it } from 'vitest'
import { propertiesOf } from './install-models.ts'
import { pod } from './routing/pod-picker.fixtures.ts'

const model = { name: 'service-v2', pool: 'standard', tritonModel: 'u2netp', isDefault: true }
const int8 = pod('a', 1, { shape: { inputSize: 320, slots: 1, views: 2, form: 'int8' } })
const fp32 = pod('b', 1, { shape: { inputSize: 320, slots: 1, views: 1, form: 'fp32' } })

describe('properties of a model', () => {
  it('are equal in every replica if nodes differ, whatever the order of pods', () => {
    expect(propertiesOf(model, [int8, fp32])).toMatchObject({ views: 1, form: 'fp32' })
    expect(propertiesOf(model, [fp32, int8])).toEqual(propertiesOf(model, [int8, fp32]))
  })

  it('come neither from a canary nor from another model', () => {
    const canary = { ...fp32, role: 'canary' } as const
    expect(propertiesOf(model, [canary, { ...fp32, tritonModel: 'other' }, int8])).toMatchObject({ form: 'int8' })
    expect(propertiesOf(model, [canary])).toBeUndefined()
  })
})
