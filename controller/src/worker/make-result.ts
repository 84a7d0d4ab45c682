// Input file to result file: photo → model input → masks → cut-out → file.
import type { Output } from '@matte/core/db/tables/task'
import { defaultOutput } from '@matte/core/task/output'
import type { ClaimedTask } from '@matte/core/task/run/claim-task'
import type { PhotoBehind } from './image/cut-out-worker.ts'
import type { PhotoHeader } from './image/decode.ts'
import type { EncodedResult } from './image/encode.ts'
import { freeBytes } from './image/free-bytes.ts'
import type { ImagePool } from './image/image-pool.ts'
import type { Background } from './image/layers.ts'
import type { SharpCalls } from './image/sharp-calls.ts'
import { type InferMasksDeps, inferMasks } from './infer-masks.ts'

export type MakeResultDeps = InferMasksDeps & { readonly images: ImagePool; readonly sharpCalls: SharpCalls }

/** `onFreed` is called right after decoding. */
type InputFile = {
  readonly file: Uint8Array
  readonly header: PhotoHeader
  readonly maxPixels: number
  /** The background that `task.door` names. */
  readonly background?: Background | undefined
  readonly onFreed: () => void
}

/** @throws ImageError, InferenceError, the signal's reason */
export async function makeResult(deps: MakeResultDeps, task: ClaimedTask, input: InputFile, signal: AbortSignal) {
  const { file, header, maxPixels, onFreed } = input
  const { images, picker, attempt, sharpCalls } = deps
  const photo = await attempt.stage('decode', () => sharpCalls.decodePhoto(signal, file, maxPixels, header))
  freeBytes(file)
  onFreed()
  const size = picker.inputSize(task.modelVersion)
  const image = await attempt.stage('prepare', () => sharpCalls.toModelInput(signal, photo, size))
  // During a change of model, the slot may belong to a model of another input size.
  const inputFor = async (wanted: number): Promise<Uint8Array> =>
    wanted === size ? image : await sharpCalls.toModelInput(signal, photo, wanted)
  const { pod, masks } = await inferMasks(deps, { task, inputFor }, signal)
  freeBytes(image)
  const wish = cutOutOf(task)
  const withPhoto = task.door?.kind === 'parts'
  const { behind, confidence, ...made } = await attempt.stage('refine', () =>
    images.cutOut({ photo, ...masks, output: wish, pixelsMax: maxPixels, withPhoto }, signal),
  )
  if ('file' in made) attempt.move('refine', 'encode', made.encodeMs)
  const cutOut =
    'file' in made
      ? made
      : await attempt.stage('encode', () => sharpCalls.encodeResult(signal, made, wish ?? defaultOutput))
  const format = (task.output ?? defaultOutput).format
  return {
    format,
    pod,
    confidence,
    ...(await attempt.stage('encode', () => addWish(deps, task, { cutOut, behind, input }, signal))),
  }
}

/** Doors start from a transparent PNG. */
const cutOutOf = ({ output, door }: ClaimedTask): Output | null =>
  door === null ? output : { ...(output ?? defaultOutput), format: 'png', background: 'transparent', channels: 'rgba' }

type Finished = EncodedResult & { readonly parts?: Uint8Array }
type Ready = {
  readonly cutOut: EncodedResult
  readonly behind: PhotoBehind | undefined
  readonly input: InputFile
}

async function addWish(
  { sharpCalls }: MakeResultDeps,
  { door, output }: ClaimedTask,
  { cutOut, behind, input: { background } }: Ready,
  signal: AbortSignal,
): Promise<Finished> {
  if (door?.kind === 'parts') return { ...cutOut, parts: await sharpCalls.toParts(signal, cutOut, behind) }
  if (background === undefined) return cutOut
  const { format } = output ?? defaultOutput
  const laid = await sharpCalls.layOverImage(signal, cutOut, background, format)
  freeBytes(cutOut.file)
  return laid
}
