// From the bytes of an input image to the bytes of its result: photo → model input → mask of a pod → cut-out → file.
import { inSpan } from '@matte/core/runtime/tracing'
import { defaultOutput } from '@matte/core/task/output'
import type { ClaimedTask } from '@matte/core/task/run/claim-task'
import type { PhotoHeader } from './image/decode.ts'
import { freeBytes } from './image/free-bytes.ts'
import type { ImagePool } from './image/image-pool.ts'
import type { SharpCalls } from './image/sharp-calls.ts'
import type { InferenceRecord } from './inference-record.ts'
import type { PodPicker } from './routing/pod-picker.ts'
import type { Outcome } from './routing/pod-probation.ts'
import type { Pod } from './routing/pod-source.ts'
import type { TaskMetrics } from './task-metrics.ts'
import { InferenceError } from './triton/inference-error.ts'

export type MakeResultDeps = {
  readonly picker: PodPicker
  readonly images: ImagePool
  readonly sharpCalls: SharpCalls
  readonly metrics: TaskMetrics
  readonly inferences: InferenceRecord
  readonly inferenceTimeoutMs: number
}

/** An input image as it was fetched; its bytes are freed, and `onFreed` called, as soon as they are decoded. */
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
  const wish = { modelVersion: task.modelVersion, isRetry: task.attempt > 1 }
  const { pod, mask } = await picker.withSlot(wish, signal, async (chosen) => {
    const { inputSize } = chosen.shape
    // While a pool goes over to a model of another size, the slot may be of the one that was not expected.
    const fitting = inputSize === size ? image : await sharpCalls.toModelInput(signal, photo, inputSize)
    return { pod: chosen, mask: await inferOn(deps, chosen, task, { image: fitting, size: inputSize, signal }) }
  })
  freeBytes(image)
  const { output } = task
  const { format, maxSide } = output ?? defaultOutput
  const made = await metrics.stage('refine', () => images.cutOut({ photo, mask, output }, signal))
  if ('file' in made) return { format, pod, ...made }
  return {
    format,
    pod,
    ...(await metrics.stage('encode', () => sharpCalls.encodeResult(signal, made, { format, maxSide }))),
  }
}

type ModelInput = { readonly image: Uint8Array; readonly size: number; readonly signal: AbortSignal }

/** One inference, measured and counted for its pod. */
async function inferOn(deps: MakeResultDeps, pod: Pod, task: ClaimedTask, input: ModelInput): Promise<Buffer> {
  const { metrics, inferences, inferenceTimeoutMs: timeoutMs } = deps
  const { client, tritonModel: model, address } = pod
  const begun = performance.now()
  const count = (outcome: Outcome): void => inferences.record(pod, outcome, (performance.now() - begun) / 1_000)
  try {
    const mask = await metrics.stage('infer', () =>
      inSpan('triton.infer', { kind: 'client', attributes: { 'server.address': address } }, () =>
        client.infer({ model, id: `${task.id}/${task.run}/${task.claim}`, timeoutMs, ...input }),
      ),
    )
    count('ok')
    return mask
  } catch (error) {
    // What we ended ourselves says nothing of the pod.
    if (error instanceof InferenceError && !input.signal.aborted) count(error.kind)
    throw error
  }
}
