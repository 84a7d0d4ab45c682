// Facts about a model that its use needs, read from Triton's description of the model.
import { InferenceError } from './inference-error.ts'
import { type ModelProperties, readModelProperties } from './model-properties.ts'
import type { ModelConfig, ModelMetadata, TensorMetadata } from './triton-protocol.ts'

export type ModelShape = ModelProperties & {
  /** Side of the square input in pixels. */
  readonly inputSize: number
  /** Requests that the pod works on at once: instances × preferred batch. */
  readonly slots: number
}

/** @throws InferenceError failed: the model's tensors are not ours, or a property of its entry is wrong. */
export const readModelShape = (model: string, metadata: ModelMetadata, answer: ModelConfig): ModelShape => ({
  ...readModelProperties(model, answer),
  inputSize: inputSizeOf(model, metadata),
  slots: slotsOf(answer.config ?? {}),
})

function inputSizeOf(model: string, { inputs = [], outputs = [] }: ModelMetadata): number {
  const side = Number(inputs[0]?.shape[1])
  const takesImage = matches(inputs[0], 'image', [side, side, 3])
  const givesAlpha = matches(outputs[0], 'alpha', [side, side])
  // Refining works on cells of four by four.
  const isSide = side > 0 && side % 4 === 0
  if (takesImage && givesAlpha && isSide) return side
  const wanted = 'must take image UINT8 [N,S,S,3] and give alpha UINT8 [N,S,S], S a multiple of 4'
  throw new InferenceError('failed', `model ${model} ${wanted}; it has ${describe(inputs)} and ${describe(outputs)}`)
}

/** The first axis is open, or 1 where the graph takes one image at a time; more than one is never sent. */
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

/** A group's count is for each of its GPUs. */
function slotsOf(config: NonNullable<ModelConfig['config']>): number {
  const { instance_group: groups = [], dynamic_batching: batching, max_batch_size } = config
  const instances = groups.reduce((sum, { count = 1, gpus = [] }) => sum + count * Math.max(1, gpus.length), 0)
  const batch = batching ? Math.max(1, ...(batching.preferred_batch_size ?? [max_batch_size ?? 1])) : 1
  return Math.max(1, instances) * batch
}
