// What a model's entry says of itself: `parameters` of its config.pbtxt whose keys begin with `matte.`, which Triton
// hands on unread. A property lives beside the weights that it is true of, so a pod reports it and nobody repeats it.
import { InferenceError } from './inference-error.ts'
import type { ModelConfig } from './triton-protocol.ts'

export const modelForms = ['fp32', 'fp16', 'bf16', 'int8'] as const

export type ModelProperties = {
  /** Masks that are made of a photo: 1, or 2 with that of its mirror image. */
  readonly views: 1 | 2
  /** The numbers that it computes with. */
  readonly form?: (typeof modelForms)[number] | undefined
  /** An SPDX expression. */
  readonly licence?: string | undefined
  /** By the multiply-adds of one image; docs/models.md has the bounds. */
  readonly speed?: 'fast' | 'medium' | 'slow' | undefined
}

const prefix = 'matte.'

/** One that is missing here is a typing error of the entry. */
const names = ['views', 'form', 'licence', 'speed'] as const satisfies readonly (keyof ModelProperties)[]

/** Identifiers of SPDX, joined by its words. */
const licenceForm = /^[A-Za-z0-9][A-Za-z0-9.+-]*( (AND|OR|WITH) [A-Za-z0-9][A-Za-z0-9.+-]*)*$/
const licenceLengthMax = 128

/** @throws InferenceError failed: a property is not one of ours, or says what it may not. */
export function readModelProperties(model: string, { config = {} }: ModelConfig): ModelProperties {
  const { parameters = {} } = config
  const unknown = Object.keys(parameters).find(
    (key) => key.startsWith(prefix) && !names.some((name) => prefix + name === key),
  )
  if (unknown !== undefined) {
    const known = names.map((name) => prefix + name).join(', ')
    throw new InferenceError('failed', `model ${model} has a parameter ${unknown}; there are ${known}`)
  }
  const read = <T>(name: (typeof names)[number], toValue: (text: string) => T | undefined, wanted: string) => {
    const parameter = parameters[prefix + name]
    if (parameter === undefined) return undefined
    const { string_value: text = '' } = parameter
    const value = toValue(text)
    if (value !== undefined) return value
    const has = `${prefix}${name} ${JSON.stringify(text)}`
    throw new InferenceError('failed', `model ${model} has ${has}; it must be ${wanted}`)
  }
  return {
    views: read('views', (text) => ([1, 2] as const).find((count) => String(count) === text), '1 or 2') ?? 1,
    form: read('form', oneOf(...modelForms), 'fp32, fp16, bf16 or int8'),
    licence: read('licence', toLicence, 'an SPDX expression such as Apache-2.0'),
    speed: read('speed', oneOf('fast', 'medium', 'slow'), 'fast, medium or slow'),
  }
}

const oneOf =
  <T extends string>(...words: readonly T[]) =>
  (text: string): T | undefined =>
    words.find((word) => word === text)

const toLicence = (text: string): string | undefined =>
  text.length <= licenceLengthMax && licenceForm.test(text) ? text : undefined
