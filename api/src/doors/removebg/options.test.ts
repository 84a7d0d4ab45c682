import { describe, expect, it } from 'vitest'
import { readOptions } from './options.ts'

const options = (fields: Record<string, string>) =>
  readOptions({ fields: new Map(Object.entries(fields)), files: new Map() })
const output = (fields: Record<string, string>) => options({ size: 'full', ...fields }).output

describe('parameters of remove.bg', () => {
  it.each([
    [{}, { format: 'png', channels: 'rgba', crop: false }],
    [
      { format: 'auto', bg_color: 'red' },
      { format: 'jpeg', background: '#ff0000' },
    ],
    [
      { bg_color: 'red', channels: 'alpha' },
      { format: 'png', channels: 'alpha' },
    ],
    [{ bg_color: '81d4fa' }, { format: 'jpeg', background: '#81d4fa' }],
    [{ bg_color: '#fff' }, { background: '#ffffff' }],
    [{ bg_color: 'FA08' }, { format: 'png', background: '#ffaa0088' }],
    [{ bg_color: '81d4faff' }, { format: 'jpeg' }],
    [{ format: 'jpg' }, { format: 'jpeg' }],
    [
      { crop: 'true', crop_margin: '10%' },
      { crop: true, cropMargin: '10%' },
    ],
    [{ crop: '', bg_color: '' }, { crop: false }],
  ])('%j become %j', (fields, expected) => {
    expect(output(fields as Record<string, string>)).toMatchObject(expected)
  })

  it.each([
    ['', 'other'],
    ['auto', 'other'],
    ['car', 'car'],
  ])('with type %j show the type %s', (type, shown) => {
    expect(options({ size: 'full', type }).type).toBe(shown)
    expect(options({ size: 'full', type, type_level: 'none' }).type).toBeUndefined()
  })
})
