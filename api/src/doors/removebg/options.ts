// Parameters of `POST /v1.0/removebg` as an `output` of Matte.

import type { Region } from '@matte/core/db/tables/task'
import { findInvertedSide, type RequestedOutput } from '@matte/core/task/output'
import type { FastifySchemaValidationError } from 'fastify'
import { Compile, type Validator } from 'typebox/compile'
import { toIssues } from '../../errors/issues.ts'
import type { ImageForm } from '../../image-request/image-body.ts'
import type { GivenImage } from '../../image-request/stored-images.ts'
import { outputSchema } from '../../schemas/output.ts'
import { isOpaque, readColour } from './colours.ts'
import { invalid } from './errors.ts'
import { type RemovebgType, removebgTypes } from './types.ts'

export type RemovebgOptions = {
  readonly output: RequestedOutput
  /** Hint about the subject, which the operator's table maps to a model. */
  readonly type: RemovebgType
  /** False: the response has no `X-Type`. */
  readonly isClassified: boolean
  readonly background: GivenImage | undefined
  /** `format=zip`. */
  readonly parts: boolean
}

type Fields = ReadonlyMap<string, string>

const megapixel = 1_000_000

/** Largest result by `size`, of any case; undefined: as large as the image. `4k` is the older name of `full`. */
const sizes: Readonly<Record<string, number | undefined>> = {
  preview: 0.25 * megapixel,
  small: 0.25 * megapixel,
  regular: 0.25 * megapixel,
  medium: 1.5 * megapixel,
  hd: 4 * megapixel,
  '4k': undefined,
  '50MP': 50 * megapixel,
  full: undefined,
  auto: undefined,
}
const typeLevels = ['none', '1', '2', 'latest']
/** The cut-out behind a ZIP is a PNG. */
const formats: Readonly<Record<string, string>> = {
  png: 'png',
  jpg: 'jpeg',
  jpeg: 'jpeg',
  webp: 'webp',
  auto: 'auto',
  zip: 'png',
}

/** @throws MatteError INVALID_PARAMS with the code of remove.bg */
export function readOptions({ fields: sent, files }: ImageForm): RemovebgOptions {
  const fields = new Map([...sent].filter(([, value]) => value !== ''))
  const type = oneOf(fields, 'type', removebgTypes) ?? 'auto'
  const level = oneOf(fields, 'type_level', typeLevels)
  const isHard = fields.has('semitransparency') && !readSwitch(fields, 'semitransparency')
  const colour = readColourOf(fields)
  const parts = fields.get('format') === 'zip'
  const background = readBackground({ fields, files })
  if (background !== undefined && colour !== undefined) {
    throw invalid('bg_color', 'must be left out with a background image')
  }
  checkParts({ fields, parts, hasBackground: background !== undefined || colour !== undefined })
  const output = {
    format: readFormat(fields, { colour, background }),
    ...(colour !== undefined && { background: colour }),
    channels: oneOf(fields, 'channels', ['rgba', 'alpha'] as const) ?? 'rgba',
    ...readCrop(fields),
    ...readPlacement(fields),
    ...readSize(fields),
    ...readShadow(fields, type),
  }
  checkOutput(output)
  return {
    output: isHard ? { ...output, alpha: 'hard' } : output,
    type,
    isClassified: level !== 'none',
    // A matte has no background.
    background: output.channels === 'alpha' ? undefined : background,
    parts,
  }
}

const shadowTypes = ['none', 'auto', 'car', 'drop', '3D'] as const
/** Types that rarely touch a ground: portraits, animals in the air, logos. */
const groundless = ['person', 'animal', 'graphic']

/** `add_shadow` is the older form, for cars alone; `shadow_type` decides where both are sent. */
function readShadow(fields: Fields, type: string | undefined): Pick<RequestedOutput, 'shadow'> {
  const isAdded = readSwitch(fields, 'add_shadow')
  const shadowType = oneOf(fields, 'shadow_type', shadowTypes) ?? (isAdded ? 'car' : 'none')
  const opacity = readPercent(fields, 'shadow_opacity')
  if (shadowType === 'none') return {}
  const ofType = {
    car: 'contact',
    drop: 'drop',
    '3D': 'cast',
    auto: groundless.includes(type ?? '') ? 'drop' : 'contact',
  }
  const kind = ofType[shadowType] as 'drop' | 'contact' | 'cast'
  // A crop removes what is empty, which a shadow is not.
  return { shadow: { kind, ...(opacity !== undefined && { opacity }), grow: readSwitch(fields, 'crop') } }
}

function readPercent(fields: Fields, name: string): number | undefined {
  const text = fields.get(name)
  if (text === undefined) return undefined
  if (!/^(100|[0-9]{1,2})$/.test(text)) throw invalid(name, 'must be a whole number from 0 to 100')
  return Number(text)
}

type Parts = { readonly fields: Fields; readonly parts: boolean; readonly hasBackground: boolean }

/** The parts of a ZIP are the colours of the subject and its matte. */
function checkParts({ fields, parts, hasBackground }: Parts): void {
  if (!parts) return
  if (hasBackground) throw invalid('format', 'must not be zip with a background: a zip has none')
  if (fields.get('channels') === 'alpha') throw invalid('channels', 'must be rgba with the format zip')
}

type Under = { readonly colour: string | undefined; readonly background: GivenImage | undefined }

function readFormat(fields: Fields, { colour, background }: Under): string {
  const name = oneOf(fields, 'format', Object.keys(formats)) ?? 'auto'
  if (name !== 'auto') return formats[name] ?? name
  const isFilled = background !== undefined || (colour !== undefined && isOpaque(colour))
  return isFilled && fields.get('channels') !== 'alpha' ? 'jpeg' : 'png'
}

function readColourOf(fields: Fields): string | undefined {
  const text = fields.get('bg_color')
  if (text === undefined) return undefined
  const colour = readColour(text)
  if (colour === undefined) throw invalid('bg_color', 'must be a name or hexadecimal digits such as 81d4fa')
  return colour
}

function readBackground({ fields, files }: ImageForm): GivenImage | undefined {
  const file = files.get('bg_image_file')
  const url = fields.get('bg_image_url')
  if (file !== undefined && url !== undefined) throw invalid('bg_image_url', 'must be left out with bg_image_file')
  if (fields.has('bg_image_file')) throw invalid('bg_image_file', 'must be a file')
  return file ?? (url === undefined ? undefined : { url, path: '/body/bg_image_url' })
}

function readCrop(fields: Fields) {
  const margin = fields.get('crop_margin')
  return {
    crop: readSwitch(fields, 'crop'),
    ...(margin !== undefined && { cropMargin: readLengths(margin).join(' ') }),
  }
}

/** Zero needs no unit: version 1.0 documents 0 as the default of `crop_margin`, and forms send it. */
const readLengths = (text: string): string[] =>
  text
    .trim()
    .split(/\s+/)
    .map((length) => (length === '0' ? '0px' : length))

/** Without a position, the service centres a scaled subject, as remove.bg does. */
function readPlacement(fields: Fields) {
  const [roi, scale, position] = ['roi', 'scale', 'position'].map((name) => fields.get(name))
  return {
    ...(roi !== undefined && { roi: readRoi(roi) }),
    ...(scale !== undefined && { scale }),
    ...(position !== undefined && { position: readPosition(position) }),
  }
}

function readRoi(text: string): Region {
  const [left, top, right, bottom, ...more] = readLengths(text)
  if (left === undefined || top === undefined || right === undefined || bottom === undefined || more.length > 0) {
    throw invalid('roi', 'must be four values such as 10% 20% 90% 100%')
  }
  return { left, top, right, bottom }
}

/** One percentage counts for both axes. */
function readPosition(text: string): string {
  const values = text.trim().split(/\s+/)
  return values.length === 1 && values[0]?.endsWith('%') ? `${values[0]} ${values[0]}` : values.join(' ')
}

function readSize(fields: Fields) {
  const sent = (fields.get('size') ?? 'preview').toLowerCase()
  const size = Object.keys(sizes).find((name) => name.toLowerCase() === sent)
  if (size === undefined) throw invalid('size', `must be one of ${Object.keys(sizes).join(', ')}`)
  const maxPixels = sizes[size]
  return maxPixels === undefined ? {} : { maxPixels }
}

function oneOf<const C extends string>(fields: Fields, name: string, choices: readonly C[]): C | undefined {
  const value = fields.get(name)
  const known = choices.find((choice) => choice === value)
  if (value !== undefined && known === undefined) throw invalid(name, `must be one of ${choices.join(', ')}`)
  return known
}

function readSwitch(fields: Fields, name: string): boolean {
  const value = fields.get(name) ?? 'false'
  if (/^(true|1)$/i.test(value)) return true
  if (/^(false|0)$/i.test(value)) return false
  throw invalid(name, 'must be true or false')
}

/** Parameters by the member of `output` that they become. */
const parameters: Readonly<Record<string, string>> = {
  cropMargin: 'crop_margin',
  roi: 'roi',
  scale: 'scale',
  position: 'position',
  maxPixels: 'size',
}

let validator: Validator | undefined

/** Applies the rules that the Developer API has for `output`. */
function checkOutput(output: RemovebgOptions['output']): void {
  validator ??= Compile(outputSchema)
  if (validator.Check(output)) {
    const side = output.roi ? findInvertedSide(output.roi) : undefined
    if (side !== undefined) throw invalid('roi', `must end after it begins; its ${side} edge does not`)
    return
  }
  const [issue] = toIssues(validator.Errors(output) as FastifySchemaValidationError[], undefined)
  const member = issue?.path.split('/')[1] ?? ''
  throw invalid(parameters[member] ?? member, issue?.message ?? 'is invalid')
}
