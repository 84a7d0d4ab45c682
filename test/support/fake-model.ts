// Model of the fake Triton: metadata, instances, masks.
import type { InferRequest } from '@matte/controller/worker/triton/triton-protocol'

export type FakeModel = {
  readonly name: string
  /** Side of its input in pixels. */
  readonly inputSize?: number
  /** Maximum number of images processed at once. */
  readonly instances?: number
  readonly preferredBatch?: number
  /** `matte.views` in its configuration; absent by default. */
  readonly views?: 1 | 2
  /** Instead of the ellipse, the mask is the red channel of the left half of the input; the right half is 0. */
  readonly isHalfBlind?: boolean
  /** Reason why it does not load. */
  readonly failure?: string
}

export type Model = {
  readonly spec: Required<Pick<FakeModel, 'name' | 'inputSize'>> & FakeModel
  readonly instances: Places
  mask(request: InferRequest): Buffer
  readonly config: unknown
  metadata(isWrong: boolean): unknown
}

export function createModel(model: FakeModel): Model {
  const { name, inputSize = 320, instances = 1, preferredBatch, views } = model
  const parameters = views && { parameters: { 'matte.views': { string_value: String(views) } } }
  const plain = ellipse(inputSize)
  const side = (isWrong: boolean): number[] => (isWrong ? [-1, 1, inputSize, inputSize] : [-1, inputSize, inputSize])
  const batching = preferredBatch && { dynamic_batching: { preferred_batch_size: [preferredBatch] } }
  return {
    spec: { ...model, inputSize },
    instances: createPlaces(instances * (preferredBatch ?? 1)),
    mask: ({ raw_input_contents: [image] }) => (model.isHalfBlind && image ? leftHalf(image, inputSize) : plain),
    config: { config: { name, max_batch_size: 8, instance_group: [{ count: instances }], ...batching, ...parameters } },
    metadata: (isWrong) => ({
      name,
      inputs: [{ name: 'image', datatype: 'UINT8', shape: [-1, inputSize, inputSize, 3] }],
      outputs: [{ name: 'alpha', datatype: 'UINT8', shape: side(isWrong) }],
    }),
  }
}

type Places = { use(work: () => Promise<void>): Promise<void> }

/** Runs this many at once, first come first served. */
function createPlaces(count: number): Places {
  let free = count
  const waiting: (() => void)[] = []
  return {
    use: async (work) => {
      if (free > 0) free--
      else await new Promise<void>((resolve) => waiting.push(resolve))
      try {
        await work()
      } finally {
        const next = waiting.shift()
        if (next) next()
        else free++
      }
    },
  }
}

/** A foreground in the middle, so the cut-out is not empty. */
function ellipse(size: number): Buffer {
  const mask = Buffer.alloc(size * size)
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const distance = Math.hypot((x - size / 2) / (size * 0.35), (y - size / 2) / (size * 0.45))
      mask[y * size + x] = Math.max(0, Math.min(255, Math.round((1.05 - distance) * 2_550)))
    }
  }
  return mask
}

function leftHalf(image: Uint8Array, size: number): Buffer {
  const mask = Buffer.alloc(size * size)
  for (let at = 0; at < mask.length; at++) if (at % size < size / 2) mask[at] = image[at * 3] ?? 0
  return mask
}
