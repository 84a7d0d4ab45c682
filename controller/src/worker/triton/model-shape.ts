// Input size, slots and properties of a model, from Triton's description.
import { InferenceError } from './inference-error.ts'
import type { ModelConfig, ModelMetadata, TensorMetadata } from './triton-protocol.ts'

export type ModelShape = ModelProperties & {
  readonly inputSize: number
  /** Concurrent requests: instances × preferred batch. */
  readonly slots: number
}

/** Workers serve the models of all teams, and each photo takes 26 bytes per pixel of the input (A258). */
const inputSizeMax = 2_048

/** @throws InferenceError failed: unsupported tensors, or an invalid property */
export const readModelShape = (model: string, metadata: ModelMetadata, answer: ModelConfig): ModelShape => ({
  ...readModelProperties(model, answer),
  inputSize: inputSizeOf(model, metadata),
  slots: slotsOf(answer.config ?? {}),
})

function inputSizeOf(model: string, { inputs = [], outputs = [] }: ModelMetadata): number {
  const side = Number(inputs[0]?.shape[1])
  const takesImage = matches(inputs[0], 'image', [side, side, 3])
  const givesAlpha = matches(outputs[0], 'alpha', [side, side])
  // The working grid needs multiples of four.
  const isSide = side > 0 && side % 4 === 0 && side <= inputSizeMax
  if (takesImage && givesAlpha && isSide) return side
  const wanted = `must take image UINT8 [N,S,S,3] and give alpha UINT8 [N,S,S], S a multiple of 4 up to ${inputSizeMax}`
  throw new InferenceError('failed', `model ${model} ${wanted}; it has ${describe(inputs)} and ${describe(outputs)}`)
}

/** The first axis is open or 1; the worker sends one image. */
function matches(tensor: TensorMetadata | undefined, name: string, shape: readonly number[]): boolean {
  const [images, ...rest] = tensor?.shape.map(Number) ?? []
  return (
    tensor?.name === name &&
    tensor.datatype === 'UINT8' &&
    (images === -1 || images === 1) &&
    rest.join() === shape.join()
  )
}

const describe = (tensors: readonly TensorMetadata[]): string =>
  tensors.map(({ name, datatype, shape }) => `${name} ${datatype} [${shape.join()}]`).join(', ') || 'no tensor'

/** The count of a group is per GPU. */
function slotsOf(config: NonNullable<ModelConfig['config']>): number {
  const { instance_group: groups = [], dynamic_batching: batching, max_batch_size } = config
  const instances = groups.reduce((sum, { count = 1, gpus = [] }) => sum + count * Math.max(1, gpus.length), 0)
  const batch = batching ? Math.max(1, ...(batching.preferred_batch_size ?? [max_batch_size ?? 1])) : 1
  return Math.max(1, instances) * batch
}

// `matte.` parameters in a model's config.pbtxt. Triton ignores them; they live beside the weights that they describe.
export const modelForms = ['fp32', 'fp16', 'bf16', 'int8'] as const

export type ModelProperties = {
  /** Masks per photo: 1, or 2 with the mirror image. */
  readonly views: 1 | 2
  readonly form?: (typeof modelForms)[number] | undefined
  readonly licence?: string | undefined
  /** By multiply-adds per image; docs/models.md has the bounds. */
  readonly speed?: 'fast' | 'medium' | 'slow' | undefined
}

const prefix = 'matte.'

const names = ['views', 'form', 'licence', 'speed'] as const satisfies readonly (keyof ModelProperties)[]

const licenceForm = /^[A-Za-z0-9][A-Za-z0-9.+-]*( (AND|OR|WITH) [A-Za-z0-9][A-Za-z0-9.+-]*)*$/
const licenceLengthMax = 128

/** @throws InferenceError failed: unknown property or invalid value */
export function readModelProperties(model: string, { config = {} }: ModelConfig): ModelProperties {
  const { parameters = {} } = config
  const unknown = Object.keys(parameters).find(
    (key) => key.startsWith(prefix) && !names.some((name) => prefix + name === key),
  )
  if (unknown !== undefined) {
    const known = names.map((name) => prefix + name).join(', ')
    throw new InferenceError('failed', `model ${model} has an unknown parameter ${unknown}; known are ${known}`)
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
