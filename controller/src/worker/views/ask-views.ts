// The masks of a photo, by one request to a model or by two at once: the photo and, where the model's entry says
// `matte.views` 2, its mirror image, so that a lone task has two instances at work. Each view takes a slot of its own
// and gives it back when it is answered. None waits for a slot while it has one, so any number of tasks gets on with a
// single slot (A116).
import { inSpan } from '@matte/core/runtime/tracing'
import type { ClaimedTask } from '@matte/core/task/run/claim-task'
import { freeBytes } from '../image/free-bytes.ts'
import type { InferenceRecord } from '../inference-record.ts'
import { mirror } from '../masks/mirror.ts'
import type { PodPicker } from '../routing/pod-picker.ts'
import type { Pod } from '../routing/pod-source.ts'
import type { TaskMetrics } from '../task-metrics.ts'
import { InferenceError } from '../triton/inference-error.ts'
import { allOrNone } from './all-or-none.ts'

export type AskViewsDeps = {
  readonly picker: PodPicker
  readonly metrics: TaskMetrics
  readonly inferences: InferenceRecord
  readonly inferenceTimeoutMs: number
}

type Asked = {
  readonly task: ClaimedTask
  /** The model's input at this size, which the pod that is found decides. */
  readonly inputFor: (size: number) => Promise<Uint8Array>
}

/**
 * What both views took counts as one request of the first one's revision: its seconds in slots are what a task costs
 * its pods, which scaling and rollouts go by. @throws InferenceError, and what `inputFor` throws
 */
export async function askViews(deps: AskViewsDeps, asked: Asked, signal: AbortSignal) {
  const { picker, metrics, inferences } = deps
  const { modelVersion, attempt } = asked.task
  const wish = { modelVersion, isRetry: attempt > 1 }
  const first = await picker.takeSlot(wish, signal)
  const { pod } = first
  const { inputSize: size, views } = pod.shape
  const input = asked.inputFor(size)
  const askPhoto = (either: AbortSignal): Promise<Answer> =>
    first.use(either, async () => askView(deps, { ...asked, view: 'photo', pod, image: await input, size }, either))
  const askMirror = async (either: AbortSignal): Promise<Answer> => {
    const { pod: other, use } = await picker.takeSlot({ ...wish, like: pod }, either)
    return use(either, async () => {
      const photo = await input
      // The slot may be the one that the photo's view has just failed in.
      either.throwIfAborted()
      const image = mirror(photo, size)
      const answer = await askView(deps, { ...asked, view: 'mirror', pod: other, image, size }, either)
      freeBytes(image)
      return answer
    })
  }
  try {
    const answers = await metrics.stage('infer', () =>
      allOrNone(signal, views === 2 ? [askPhoto, askMirror] : [askPhoto]),
    )
    const seconds = answers.reduce((sum, answer) => sum + answer.seconds, 0)
    inferences.record(pod, 'ok', seconds)
    const [photo, mirrored] = answers
    if (photo === undefined) throw new Error('no view was asked for')
    return { pod, masks: { mask: photo.mask, mirrored: mirrored?.mask } }
  } catch (error) {
    // What we ended ourselves says nothing of the pods.
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

async function askView({ inferenceTimeoutMs: timeoutMs }: AskViewsDeps, asked: View, signal: AbortSignal) {
  const { task, view, pod, image, size } = asked
  const { client, tritonModel: model, address } = pod
  const id = `${task.id}/${task.run}/${task.claim}/${view}`
  const attributes = { 'server.address': address, 'matte.view': view }
  const begun = performance.now()
  const mask = await inSpan('triton.infer', { kind: 'client', attributes }, () =>
    client.infer({ model, id, image, size, timeoutMs, signal }),
  )
  return { mask, seconds: (performance.now() - begun) / 1_000 }
}
