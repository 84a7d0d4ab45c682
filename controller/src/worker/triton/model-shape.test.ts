import { describe, expect, it } from 'vitest'
import { readModelShape } from './model-shape.ts'
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

  it('takes a model whose graph is for one image at a time', () => {
    const single = { inputs: [{ ...image, shape: [1, 64, 64, 3] }], outputs: [{ ...alpha, shape: ['1', '64', '64'] }] }
    expect(readModelShape('single', single, { config: { max_batch_size: 0 } })).toMatchObject({
      inputSize: 64,
      slots: 1,
    })
  })

  it.each([
    ['images by eights', { inputs: [{ ...image, shape: [8, 320, 320, 3] }], outputs: [alpha] }, '[8,320,320,3]'],
    ['another name', { inputs: [{ ...image, name: 'pixels' }], outputs: [alpha] }, 'pixels UINT8'],
    ['another type', { inputs: [image], outputs: [{ ...alpha, datatype: 'FP32' }] }, 'alpha FP32'],
    ['sides that differ', { inputs: [image], outputs: [{ ...alpha, shape: [-1, 320, 160] }] }, '[-1,320,160]'],
    ['no output', { inputs: [image] }, 'no tensor'],
    [
      'a side that is no multiple of 4',
      { inputs: [{ ...image, shape: [-1, 318, 318, 3] }], outputs: [{ ...alpha, shape: [-1, 318, 318] }] },
      '[-1,318,318]',
    ],
  ])('refuses a model with %s, and says what it has', (_name, wrong, has) => {
    expect(() => readModelShape('u2netp', wrong, {})).toThrow(has)
  })
})
