import { describe, expect, it } from 'vitest'
import { readModelProperties, readModelShape } from './model-shape.ts'
import type { TensorMetadata } from './triton-protocol.ts'

const image: TensorMetadata = { name: 'image', datatype: 'UINT8', shape: ['-1', '320', '320', '3'] }
const alpha: TensorMetadata = { name: 'alpha', datatype: 'UINT8', shape: [-1, 320, 320] }
const metadata = { inputs: [image], outputs: [alpha] }

describe('readModelShape', () => {
  it.each([
    [{}, 1],
    [{ instance_group: [] }, 1],
    [{ instance_group: [{ count: 2 }, {}] }, 3],
    [{ instance_group: [{ count: 2, gpus: [0, 1] }] }, 4],
    [{ max_batch_size: 8, instance_group: [{ count: 2 }], dynamic_batching: null }, 2],
    [{ max_batch_size: 8, instance_group: [{ count: 2 }], dynamic_batching: {} }, 16],
    [{ max_batch_size: 8, dynamic_batching: { preferred_batch_size: [2, 4] } }, 4],
  ])('has as many slots as instances × preferred batch: %j', (config, slots) => {
    expect(readModelShape('u2netp', metadata, { config })).toEqual({ inputSize: 320, slots, views: 1 })
  })

  it('accepts a model that takes one image at a time', () => {
    const single = { inputs: [{ ...image, shape: [1, 64, 64, 3] }], outputs: [{ ...alpha, shape: ['1', '64', '64'] }] }
    expect(readModelShape('single', single, { config: { max_batch_size: 0 } })).toMatchObject({
      inputSize: 64,
      slots: 1,
    })
  })

  it.each([
    ['a fixed batch of eight', { inputs: [{ ...image, shape: [8, 320, 320, 3] }], outputs: [alpha] }, '[8,320,320,3]'],
    ['another name', { inputs: [{ ...image, name: 'pixels' }], outputs: [alpha] }, 'pixels UINT8'],
    ['another type', { inputs: [image], outputs: [{ ...alpha, datatype: 'FP32' }] }, 'alpha FP32'],
    ['sides that differ', { inputs: [image], outputs: [{ ...alpha, shape: [-1, 320, 160] }] }, '[-1,320,160]'],
    ['no output', { inputs: [image] }, 'no tensor'],
    [
      'a side that is not a multiple of 4',
      { inputs: [{ ...image, shape: [-1, 318, 318, 3] }], outputs: [{ ...alpha, shape: [-1, 318, 318] }] },
      '[-1,318,318]',
    ],
    [
      'a side of more than 2,048',
      { inputs: [{ ...image, shape: [-1, 2052, 2052, 3] }], outputs: [{ ...alpha, shape: [-1, 2052, 2052] }] },
      '[-1,2052,2052]',
    ],
  ])('refuses a model with %s, and names its tensors', (_name, wrong, has) => {
    expect(() => readModelShape('u2netp', wrong, {})).toThrow(has)
  })
})

const read = (parameters: Record<string, string>) =>
  readModelProperties('u2netp', {
    config: {
      parameters: Object.fromEntries(Object.entries(parameters).map(([key, text]) => [key, { string_value: text }])),
    },
  })

describe('readModelProperties', () => {
  it('reads parameters that begin with matte., and ignores those of the backend', () => {
    const entry = { 'matte.views': '2', 'matte.form': 'int8', 'matte.licence': 'MIT', 'matte.speed': 'fast' }
    expect(read({ ...entry, intra_op_thread_count: '1' })).toEqual({
      views: 2,
      form: 'int8',
      licence: 'MIT',
      speed: 'fast',
    })
  })

  it('has one view by default', () => {
    expect(read({})).toEqual({ views: 1 })
    expect(readModelProperties('u2netp', {})).toEqual({ views: 1 })
  })

  it('accepts a combined licence', () => {
    expect(read({ 'matte.licence': 'Apache-2.0 AND LicenseRef-DINOv3' })).toMatchObject({
      licence: 'Apache-2.0 AND LicenseRef-DINOv3',
    })
  })

  it.each([
    [{ 'matte.views': '3' }, 'model u2netp has matte.views "3"; it must be 1 or 2'],
    [{ 'matte.views': '' }, 'matte.views ""'],
    [{ 'matte.form': 'int4' }, 'it must be fp32, fp16, bf16 or int8'],
    [{ 'matte.licence': 'ask us' }, 'it must be an SPDX expression such as Apache-2.0'],
    [{ 'matte.speed': 'FAST' }, 'it must be fast, medium or slow'],
    [{ 'matte.veiws': '2' }, 'model u2netp has an unknown parameter matte.veiws; known are matte.views, matte.form'],
    [{ 'matte.toString': '2' }, 'matte.toString'],
  ])('refuses %j', (parameters, message) => {
    expect(() => read(parameters)).toThrow(message)
    expect(() => read(parameters)).toThrow(expect.objectContaining({ kind: 'failed' }))
  })
})
