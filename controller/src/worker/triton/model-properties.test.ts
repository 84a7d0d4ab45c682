import { describe, expect, it } from 'vitest'
import { readModelProperties } from './model-properties.ts'

const read = (parameters: Record<string, string>) =>
  readModelProperties('u2netp', {
    config: {
      parameters: Object.fromEntries(Object.entries(parameters).map(([key, text]) => [key, { string_value: text }])),
    },
  })

describe('readModelProperties', () => {
  it('reads what begins with matte., and leaves the backend its own', () => {
    const entry = { 'matte.views': '2', 'matte.form': 'int8', 'matte.licence': 'MIT', 'matte.speed': 'fast' }
    expect(read({ ...entry, intra_op_thread_count: '1' })).toEqual({
      views: 2,
      form: 'int8',
      licence: 'MIT',
      speed: 'fast',
    })
  })

  it('takes one view where the entry says nothing', () => {
    expect(read({})).toEqual({ views: 1 })
    expect(readModelProperties('u2netp', {})).toEqual({ views: 1 })
  })

  it('takes a licence of several', () => {
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
    [{ 'matte.veiws': '2' }, 'model u2netp has a parameter matte.veiws; there are matte.views, matte.form'],
    [{ 'matte.toString': '2' }, 'matte.toString'],
  ])('refuses %j', (parameters, message) => {
    expect(() => read(parameters)).toThrow(message)
    expect(() => read(parameters)).toThrow(expect.objectContaining({ kind: 'failed' }))
  })
})
