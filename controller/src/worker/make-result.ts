// Input file to result file: photo → model input → masks → cut-out → file.
import { defaultOutput } from '@matte/core/task/output'
import type { ClaimedTask } from '@matte/core/task/run/claim-task'
import type { PhotoHeader } from './image/decode.ts'
import { freeBytes } from './image/free-bytes.ts'
import type { ImagePool } from './image/image-pool.ts'
import type { SharpCalls } from './image/sharp-calls.ts'
import { type InferMasksDeps, inferMasks } from './infer-masks.ts'

export type MakeResultDeps = InferMasksDeps & { readonly images: ImagePool; readonly sharpCalls: SharpCalls }

/** `onFreed` is called right after decoding. */
type InputFile = {
  readonly file: Uint8Array
  readonly header: PhotoHeader
  readonly maxPixels: number
  readonly onFreed: () => void
}

/** @throws ImageError, InferenceError, the signal's reason */
export async function makeResult(deps: MakeResultDeps, task: ClaimedTask, input: InputFile, signal: AbortSignal) {
  const { file, header, maxPixels, onFreed } = input
  const { images, picker, metrics, sharpCalls } = deps
  const photo = await metrics.stage('decode', () => sharpCalls.decodePhoto(signal, file, maxPixels, header))
  freeBytes(file)
  onFreed()
  const size = picker.inputSize(task.modelVersion)
  const image = await metrics.stage('prepare', () => sharpCalls.toModelInput(signal, photo, size))
  // During a change of model, the slot may belong to a model of another input size.
  const inputFor = async (wanted: number): Promise<Uint8Array> =>
    wanted === size ? image : await sharpCalls.toModelInput(signal, photo, wanted)
  const { pod, masks } = await inferMasks(deps, { task, inputFor }, signal)
  freeBytes(image)
  const { output } = task
  const wish = output ?? defaultOutput
  const { format } = wish
  const made = await metrics.stage('refine', () => images.cutOut({ photo, ...masks, output }, signal))
  if ('file' in made) return { format, pod, ...made }
  return {
    format,
    pod,
    ...(await metrics.stage('encode', () => sharpCalls.encodeResult(signal, made, wish))),
  }
}
