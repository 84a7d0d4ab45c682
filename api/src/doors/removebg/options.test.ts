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
    [{ format: 'jpeg' }, { format: 'jpeg' }],
    [
      { crop: 'true', crop_margin: '10%' },
      { crop: true, cropMargin: '10%' },
    ],
    [{ crop: '', bg_color: '' }, { crop: false }],
  ])('%j become %j', (fields, expected) => {
    expect(output(fields as Record<string, string>)).toMatchObject(expected)
  })

  it('make a JPEG over a background image, a PNG behind a zip, and a matte without either', () => {
    const file = { fileName: 'b.png', bytes: Buffer.from('b') }
    const over = (fields: Record<string, string>) =>
      readOptions({ fields: new Map(Object.entries(fields)), files: new Map([['bg_image_file', file]]) })
    expect(over({})).toMatchObject({ output: { format: 'jpeg' }, background: file, parts: false })
    expect(over({ format: 'png' })).toMatchObject({ output: { format: 'png' }, background: file })
    expect(over({ channels: 'alpha' })).toMatchObject({ output: { format: 'png' }, background: undefined })
    const byUrl = options({ bg_image_url: 'https://example.com/b.jpg' })
    expect(byUrl.background).toEqual({ url: 'https://example.com/b.jpg', path: '/body/bg_image_url' })
    expect(options({ format: 'zip' })).toMatchObject({ output: { format: 'png' }, background: undefined, parts: true })
    expect(() => over({ bg_image_url: 'https://example.com/b.jpg' })).toThrow('bg_image_url')
    expect(() => over({ bg_color: 'red' })).toThrow('bg_color')
    expect(() => over({ format: 'zip' })).toThrow('format')
  })

  it.each([
    [{ size: 'preview' }, { maxPixels: 250_000 }],
    [{ size: 'small' }, { maxPixels: 250_000 }],
    [{ size: 'regular' }, { maxPixels: 250_000 }],
    [{ size: 'medium' }, { maxPixels: 1_500_000 }],
    [{ size: 'hd' }, { maxPixels: 4_000_000 }],
    [{ size: '50MP' }, { maxPixels: 50_000_000 }],
    [{ roi: '10% 20px 90% 480px' }, { roi: { left: '10%', top: '20px', right: '90%', bottom: '480px' } }],
    [{ crop_margin: '10px  5%' }, { cropMargin: '10px 5%' }],
    [{ crop_margin: '1px 2px 3px 4px' }, { cropMargin: '1px 2px 3px 4px' }],
    [{ crop_margin: '0' }, { cropMargin: '0px' }],
    [{ crop_margin: '0 5%' }, { cropMargin: '0px 5%' }],
    [{ roi: '0 0 100% 100%' }, { roi: { left: '0px', top: '0px', right: '100%', bottom: '100%' } }],
    [{ scale: '50%' }, { scale: '50%' }],
    [
      { scale: 'original', position: 'center' },
      { scale: 'original', position: 'center' },
    ],
    [{ position: '25%' }, { position: '25% 25%' }],
    [{ position: '0% 100%' }, { position: '0% 100%' }],
  ])('%j become %j of the same region, size and place', (fields, expected) => {
    expect(output(fields as Record<string, string>)).toMatchObject(expected)
  })

  it.each([
    [{ add_shadow: 'true' }, { kind: 'contact', grow: false }],
    [
      { add_shadow: 'true', crop: 'true' },
      { kind: 'contact', grow: true },
    ],
    [{ shadow_type: 'car' }, { kind: 'contact', grow: false }],
    [
      { shadow_type: 'drop', shadow_opacity: '0' },
      { kind: 'drop', opacity: 0, grow: false },
    ],
    [
      { shadow_type: '3D', shadow_opacity: '100' },
      { kind: 'cast', opacity: 100, grow: false },
    ],
    [{ shadow_type: 'auto' }, { kind: 'contact', grow: false }],
    [
      { shadow_type: 'auto', type: 'product' },
      { kind: 'contact', grow: false },
    ],
    [
      { shadow_type: 'auto', type: 'person' },
      { kind: 'drop', grow: false },
    ],
    [
      { add_shadow: 'true', shadow_type: 'drop' },
      { kind: 'drop', grow: false },
    ],
    [{ add_shadow: 'true', shadow_type: 'none' }, undefined],
    [{ add_shadow: 'false', shadow_opacity: '50' }, undefined],
    [{}, undefined],
  ])('%j become the shadow %j', (fields, shadow) => {
    expect(output(fields as Record<string, string>).shadow).toEqual(shadow)
  })

  it('make a result of 0.25 megapixels by default, and of any size by `full`, its older name `4k`, and `auto`', () => {
    expect(options({}).output).toMatchObject({ maxPixels: 250_000 })
    for (const size of ['full', '4k', 'auto']) expect(options({ size }).output).not.toHaveProperty('maxPixels')
  })

  it.each([
    [{ roi: '10% 20% 90%' }, 'roi must be four values'],
    [{ roi: '10% 20% 90% far' }, 'roi must be a percentage'],
    [{ roi: '90% 20% 10% 100%' }, 'its right edge does not'],
    [{ crop_margin: '1px 2px 3px' }, 'crop_margin must be one, two or four'],
    [{ scale: '5%' }, 'scale must be original or a percentage from 10% to 100%'],
    [{ position: 'left' }, 'position must be original, center, or two percentages'],
    [{ crop_margin: '30' }, 'crop_margin must be one, two or four'],
    [{ size: 'huge' }, 'size must be one of preview, small, regular, medium, hd, 4k, 50MP, full, auto'],
    [{ add_shadow: 'maybe' }, 'add_shadow must be true or false'],
    [{ shadow_type: 'soft' }, 'shadow_type must be one of none, auto, car, drop, 3D'],
    [{ shadow_opacity: '101' }, 'shadow_opacity must be a whole number from 0 to 100'],
    [{ shadow_opacity: '0.5' }, 'shadow_opacity must be a whole number from 0 to 100'],
  ])('%j are refused', (fields, words) => {
    expect(() => output(fields as Record<string, string>)).toThrow(words)
  })

  it.each([
    [{}, 'auto', true],
    [{ type: '' }, 'auto', true],
    [{ type: 'car', type_level: '2' }, 'car', true],
    [{ type: 'car_interior', type_level: 'latest' }, 'car_interior', true],
    [{ type: 'person', type_level: 'none' }, 'person', false],
  ])('with %j ask for the model of %s', (fields, type, isClassified) => {
    expect(options(fields as Record<string, string>)).toMatchObject({ type, isClassified })
  })

  it('make alpha hard without semitransparency alone', () => {
    expect(output({ semitransparency: 'false' })).toMatchObject({ alpha: 'hard' })
    for (const fields of [{}, { semitransparency: '' }, { semitransparency: 'true' }]) {
      expect(output(fields as Record<string, string>)).not.toHaveProperty('alpha')
    }
    expect(() => options({ semitransparency: 'maybe' })).toThrow('semitransparency')
  })
})
