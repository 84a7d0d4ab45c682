// Assigns pod slots to requests. A request without a free slot waits first come, first served, until a slot frees or
// its signal aborts. No request holds a slot while it waits for another.
import { InferenceError } from '../triton/inference-error.ts'
import { type Choice, choosePod, hasPod, indexPods, keepSharesOf, type RoutingState } from './pod-choice.ts'
import { addRequest, forgetIdle, noLoad, type RevisionSlots, removeRequest } from './pod-load.ts'
import { type Pod, type PodSource, revisionKey } from './pod-source.ts'

type SlotRequest = {
  readonly modelVersion: string
  /** Prefers stable pods in good standing; a failing canary would fail the same few requests again. */
  readonly isRetry: boolean
  /** Requires this pod's revision: masks must come from one model. Served first; not counted for a canary. */
  readonly like?: Pod
}

/** The right to one request in `pod`; call `use` exactly once. */
type Slot = {
  readonly pod: Pod
  use<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>
}

export type PodPicker = ReturnType<typeof createPodPicker>

type Picker = RoutingState & {
  readonly source: PodSource
  readonly waiting: (SlotRequest & PromiseWithResolvers<Pod>)[]
  indexed: readonly Pod[] | undefined
  choices: ReadonlyMap<string, Choice>
}

export function createPodPicker(source: PodSource, random: () => number = Math.random) {
  // Random, so idle replicas do not all pick the same pod.
  const load = noLoad(Math.floor(random() * 1_000))
  const picker: Picker = { source, load, owed: new Map(), waiting: [], indexed: undefined, choices: new Map() }
  source.onChange(() => serveWaiting(picker))
  return {
    /** @throws InferenceError unavailable: no pod serves this model version */
    takeSlot: async (request: SlotRequest, signal: AbortSignal): Promise<Slot> => {
      const pod = await takeSlot(picker, request, signal)
      return { pod, use: (signal, work) => useSlot(picker, pod, { signal, work }) }
    },
    /** Known before a slot is taken; during a change of model the chosen pod may differ. @throws InferenceError */
    inputSize: (modelVersion: string): number => {
      const choice = choiceFor(picker, modelVersion)
      const pod = choice?.stable[0] ?? choice?.canary[0] ?? choice?.other[0]
      if (pod === undefined) throw noPod()
      return pod.shape.inputSize
    },
    slotsUsed: (): number => [...load.byAddress.values()].reduce((sum, { total }) => sum + total, 0),
    slotsByAddress: (): ReadonlyMap<string, number> =>
      new Map([...load.byAddress].flatMap(([address, { total }]) => (total > 0 ? [[address, total] as const] : []))),
    slotsByRevision: (): readonly Readonly<RevisionSlots>[] => [...load.byRevision.values()],
  }
}

type Request<T> = { readonly signal: AbortSignal; readonly work: () => Promise<T> }

async function useSlot<T>(picker: Picker, pod: Pod, { signal, work }: Request<T>): Promise<T> {
  const { source, load } = picker
  try {
    const result = await work()
    source.report(pod, 'ok')
    return result
  } catch (error) {
    if (error instanceof InferenceError && !signal.aborted) source.report(pod, error.kind)
    throw error
  } finally {
    removeRequest(load, pod)
    serveWaiting(picker)
  }
}

function choiceFor(picker: Picker, modelVersion: string): Choice | undefined {
  const pods = picker.source.pods()
  if (pods !== picker.indexed) {
    picker.indexed = pods
    picker.choices = indexPods(pods)
    keepSharesOf(picker.owed, pods)
    forgetIdle(picker.load)
  }
  return picker.choices.get(modelVersion)
}

function takeSlot(picker: Picker, request: SlotRequest, signal: AbortSignal): Promise<Pod> {
  const choice = choiceFor(picker, request.modelVersion)
  if (signal.aborted || choice === undefined || !hasPod(choice, request)) return Promise.reject(noPod())
  const isBehind = picker.waiting.some((waiter) => isAlike(waiter, request))
  const pod = isBehind ? undefined : choosePod(picker, choice, request)
  if (pod === undefined) return waitForSlot(picker, request, signal)
  addRequest(picker.load, pod)
  return Promise.resolve(pod)
}

function waitForSlot({ waiting }: Picker, request: SlotRequest, signal: AbortSignal): Promise<Pod> {
  const waiter = { ...request, ...Promise.withResolvers<Pod>() }
  const firstNew = request.like ? waiting.findIndex(({ like }) => like === undefined) : -1
  waiting.splice(firstNew < 0 ? waiting.length : firstNew, 0, waiter)
  const abort = (): void => {
    const index = waiting.indexOf(waiter)
    if (index < 0) return // it already has a pod; `use` releases it
    waiting.splice(index, 1)
    waiter.reject(noPod())
  }
  signal.addEventListener('abort', abort, { once: true })
  // Node keeps an `AbortSignal.any` signal alive while it has listeners.
  return waiter.promise.finally(() => signal.removeEventListener('abort', abort))
}

function serveWaiting(picker: Picker): void {
  const { waiting, load } = picker
  if (waiting.length === 0) return
  const full: SlotRequest[] = []
  for (const waiter of [...waiting]) {
    if (full.some((request) => isAlike(request, waiter))) continue
    const choice = choiceFor(picker, waiter.modelVersion)
    const pod = choice && choosePod(picker, choice, waiter)
    if (choice && pod === undefined && hasPod(choice, waiter)) {
      full.push(waiter)
      continue
    }
    waiting.splice(waiting.indexOf(waiter), 1)
    if (pod) {
      addRequest(load, pod)
      waiter.resolve(pod)
    } else waiter.reject(noPod())
  }
}

const isAlike = (a: SlotRequest, b: SlotRequest): boolean =>
  a.modelVersion === b.modelVersion &&
  a.isRetry === b.isRetry &&
  (a.like && revisionKey(a.like)) === (b.like && revisionKey(b.like))

const noPod = (): InferenceError => new InferenceError('unavailable', 'no ready pod serves this model')
