// Masks of a photo, from one request or, if the model has `matte.views` 2, from a second one for the mirror image at
// the same time. No view waits for a slot while it holds one (A116), so any number of tasks progresses with a single
// slot.
import { inSpan } from '@matte/core/runtime/tracing'
import type { ClaimedTask } from '@matte/core/task/run/claim-task'
import type { AttemptRecord } from './attempt-record.ts'
import { mirror } from './augmentation/mirror.ts'
import { freeBytes } from './image/free-bytes.ts'
import type { InferenceRecord } from './inference-record.ts'
import type { PodPicker } from './routing/pod-picker.ts'
import type { Pod } from './routing/pod-source.ts'
import { InferenceError } from './triton/inference-error.ts'

export type InferMasksDeps = {
  readonly picker: PodPicker
  readonly attempt: AttemptRecord
  readonly inferences: InferenceRecord
  readonly inferenceTimeoutMs: number
}

type Options = {
  readonly task: ClaimedTask
  readonly inputFor: (size: number) => Promise<Uint8Array>
}

/** Records both views as one request of the first pod's revision. @throws InferenceError, and what `inputFor` throws */
export async function inferMasks(deps: InferMasksDeps, options: Options, signal: AbortSignal) {
  const { picker, attempt, inferences } = deps
  const { modelVersion, attempt: number } = options.task
  const request = { modelVersion, isRetry: number > 1 }
  const first = await attempt.stage('wait', () => picker.takeSlot(request, signal))
  const { pod } = first
  attempt.servedBy(pod)
  const { inputSize: size, views } = pod.shape
  const input = options.inputFor(size)
  const inferPhoto = (either: AbortSignal): Promise<Answer> =>
    first.use(either, async () => inferView(deps, { ...options, view: 'photo', pod, image: await input, size }, either))
  const inferMirror = async (either: AbortSignal): Promise<Answer> => {
    const { pod: other, use } = await picker.takeSlot({ ...request, like: pod }, either)
    return use(either, async () => {
      const photo = await input
      // The photo's view may just have failed in this slot.
      either.throwIfAborted()
      const image = mirror(photo, size)
      const answer = await inferView(deps, { ...options, view: 'mirror', pod: other, image, size }, either)
      freeBytes(image)
      return answer
    })
  }
  try {
    const answers = await attempt.stage('infer', () =>
      allOrNone(signal, views === 2 ? [inferPhoto, inferMirror] : [inferPhoto]),
    )
    const seconds = answers.reduce((sum, answer) => sum + answer.seconds, 0)
    inferences.record(pod, 'ok', seconds)
    const [photo, mirrored] = answers
    if (photo === undefined) throw new Error('no view was requested')
    return { pod, masks: { mask: photo.mask, mirrored: mirrored?.mask } }
  } catch (error) {
    // A request that the worker ended says nothing about the pod.
    if (error instanceof InferenceError && !signal.aborted) inferences.record(pod, error.kind, 0)
    throw error
  }
}

type View = {
  readonly task: ClaimedTask
  readonly view: 'photo' | 'mirror'
  readonly pod: Pod
  readonly image: Uint8Array
  readonly size: number
}

type Answer = { readonly mask: Uint8Array; readonly seconds: number }

async function inferView({ inferenceTimeoutMs: timeoutMs }: InferMasksDeps, options: View, signal: AbortSignal) {
  const { task, view, pod, image, size } = options
  const { client, tritonModel: model, address } = pod
  const id = `${task.id}/${task.run}/${task.claim}/${view}`
  const attributes = { 'server.address': address, 'matte.view': view }
  const begun = performance.now()
  const mask = await inSpan('triton.infer', { kind: 'client', attributes }, () =>
    client.infer({ model, id, image, size, timeoutMs, signal }),
  )
  return { mask, seconds: (performance.now() - begun) / 1_000 }
}

type Work<T> = (signal: AbortSignal) => Promise<T>

/** Runs all works concurrently. The first error aborts the others and is thrown once all have ended. */
export async function allOrNone<T>(signal: AbortSignal, works: readonly Work<T>[]): Promise<T[]> {
  const failing = new AbortController()
  const either = AbortSignal.any([signal, failing.signal])
  const results = works.map((work) =>
    work(either).catch((error: unknown) => {
      failing.abort(error)
      throw error
    }),
  )
  await Promise.allSettled(results)
  failing.signal.throwIfAborted()
  return await Promise.all(results)
}
