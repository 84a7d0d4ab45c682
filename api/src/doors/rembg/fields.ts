// Parameters of rembg 2.0.86 (rembg/commands/s_command.py), checked as FastAPI checks them there.
import type { RequestedOutput } from '@matte/core/task/output'
import { defaultRembgModel, type RembgModel, rembgModels } from './models.ts'

/** One entry of FastAPI's 422 response. */
export type FieldError = {
  readonly type: string
  readonly loc: readonly string[]
  readonly msg: string
  readonly input: unknown
  readonly ctx?: Readonly<Record<string, unknown>>
}

/** Where a field was sent: GET has all of them in the query; POST has `bgc` and `extras` there. */
type Sources = {
  readonly place: 'query' | 'body'
  readonly fields: ReadonlyMap<string, string>
  readonly query: ReadonlyMap<string, string>
}

export type RembgFields = { readonly model: RembgModel; readonly output: RequestedOutput }

const pattern = `(${rembgModels.join('|')})`
const switches = ['a', 'om', 'ppm', 'dc', 'vm'] as const
const numbers = { af: 255, ab: 255, ae: undefined } as const
const truths = /^(1|true|t|on|yes|y)$/i
const falsehoods = /^(0|false|f|off|no|n)$/i

/** Returns the errors of all fields, in rembg's order, or the fields. */
export function readFields({ place, fields, query }: Sources): RembgFields | readonly FieldError[] {
  const errors: FieldError[] = []
  const model = fields.get('model') || defaultRembgModel
  if (!isKnown(model)) {
    const msg = `String should match pattern '${pattern}'`
    errors.push({ type: 'string_pattern_mismatch', loc: [place, 'model'], msg, input: model, ctx: { pattern } })
  }
  for (const name of switches) errors.push(...switchErrors(name, { place, value: fields.get(name) }))
  for (const [name, max] of Object.entries(numbers)) {
    errors.push(...numberErrors(name, { place, value: fields.get(name), max }))
  }
  const background = readColour(query.get('bgc'))
  if (background === undefined) errors.push(colourError(query.get('bgc')))
  if (errors.length > 0 || !isKnown(model) || background === undefined) return errors
  const channels = truths.test(fields.get('om') ?? '') ? 'alpha' : 'rgba'
  // rembg's PNG has an alpha channel over an opaque background too.
  return { model, output: { format: 'png', background, channels, alpha: 'kept' } }
}

const isKnown = (model: string): model is RembgModel => rembgModels.some((known) => known === model)

type Given = { readonly place: string; readonly value: string | undefined; readonly max?: number | undefined }

function switchErrors(name: string, { place, value = '' }: Given): FieldError[] {
  if (value === '' || truths.test(value) || falsehoods.test(value)) return []
  const msg = 'Input should be a valid boolean, unable to interpret input'
  return [{ type: 'bool_parsing', loc: [place, name], msg, input: value }]
}

function numberErrors(name: string, { place, value = '', max }: Given): FieldError[] {
  if (value === '') return []
  const loc = [place, name]
  if (!/^\s*[+-]?\d+(\.0*)?\s*$/.test(value)) {
    const msg = 'Input should be a valid integer, unable to parse string as an integer'
    return [{ type: 'int_parsing', loc, msg, input: value }]
  }
  if (Number(value) < 0) {
    const msg = 'Input should be greater than or equal to 0'
    return [{ type: 'greater_than_equal', loc, msg, input: value, ctx: { ge: 0 } }]
  }
  if (max === undefined || Number(value) <= max) return []
  const msg = `Input should be less than or equal to ${max}`
  return [{ type: 'less_than_equal', loc, msg, input: value, ctx: { le: max } }]
}

/** `R,G,B,A` or `R,G,B` as `#rrggbbaa`; undefined if malformed. */
function readColour(value = ''): string | undefined {
  if (value === '') return 'transparent'
  const parts = value.split(',').map((part) => (/^\s*\d{1,3}\s*$/.test(part) ? Number(part) : 256))
  if (parts.length < 3 || parts.length > 4 || parts.some((part) => part > 255)) return undefined
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}

/** rembg fails with 500 here. */
const colourError = (input: string | undefined): FieldError => ({
  type: 'value_error',
  loc: ['query', 'bgc'],
  msg: 'Value error, bgc must be R,G,B,A with numbers from 0 to 255',
  input,
})

export const missing = (place: string, name: string): FieldError => ({
  type: 'missing',
  loc: [place, name],
  msg: 'Field required',
  input: null,
})
