// Hands out the slots of pods: pod-choice.ts says which pod gets a request. A request that finds no free slot waits its
// turn, first come first served, until a slot frees or its signal ends the wait. Nobody keeps a slot while waiting for
// another: whoever wants two gives each back as soon as its own request has ended (A116).
import { InferenceError } from '../triton/inference-error.ts'
import { keepSharesOf } from './canary-share.ts'
import { type Choice, choosePod, hasPod, indexPods, type RoutingState } from './pod-choice.ts'
import { addRequest, forgetIdle, noLoad, type RevisionSlots, removeRequest } from './pod-load.ts'
import { type Pod, type PodSource, revisionKey } from './pod-source.ts'

/** What a request asks for. */
type Wish = {
  readonly modelVersion: string
  /**
   * It has lost an attempt already, and goes to a stable pod in good standing where there is one: a pod that is being
   * tried, or tried again, would meet the same few requests each time, and they would fail by it.
   */
  readonly isRetry: boolean
  /**
   * It belongs to a request that this pod has got, and goes to any pod of the same revision: masks of two revisions are
   * of two models. It comes before requests of which nothing has begun, and counts for no share of a canary.
   */
  readonly like?: Pod
}

/** The right to one request in `pod`, for which `use` must be called once. */
type Slot = {
  readonly pod: Pod
  /** Runs the request, reports how it ended, and gives the slot back. */
  use<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>
}

export type PodPicker = ReturnType<typeof createPodPicker>

type Picker = RoutingState & {
  readonly source: PodSource
  readonly waiting: (Wish & PromiseWithResolvers<Pod>)[]
  /** The source's list that `choices` was made of. */
  indexed: readonly Pod[] | undefined
  choices: ReadonlyMap<string, Choice>
}

export function createPodPicker(source: PodSource, random: () => number = Math.random) {
  // Replicas that are all idle would otherwise send their next request to the same pod.
  const load = noLoad(Math.floor(random() * 1_000))
  const picker: Picker = { source, load, owed: new Map(), waiting: [], indexed: undefined, choices: new Map() }
  source.onChange(() => serveWaiting(picker))
  return {
    /** A slot of a ready pod for this model version. @throws InferenceError unavailable: no such pod. */
    takeSlot: async (wish: Wish, signal: AbortSignal): Promise<Slot> => {
      const pod = await takeSlot(picker, wish, signal)
      return { pod, use: (signal, work) => useSlot(picker, pod, { signal, work }) }
    },
    /**
     * Side of the model's input in pixels, so that it can be made before a slot is taken. While a pool tries a model of
     * another size, the pod that is chosen later may differ. @throws InferenceError
     */
    inputSize: (modelVersion: string): number => {
      const choice = choiceFor(picker, modelVersion)
      const pod = choice?.stable[0] ?? choice?.canary[0] ?? choice?.other[0]
      if (pod === undefined) throw noPod()
      return pod.shape.inputSize
    },
    /** Requests in flight: over all pods, by the address of the pod, by revision. */
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

function takeSlot(picker: Picker, wish: Wish, signal: AbortSignal): Promise<Pod> {
  const choice = choiceFor(picker, wish.modelVersion)
  if (signal.aborted || choice === undefined || !hasPod(choice, wish)) return Promise.reject(noPod())
  const isBehind = picker.waiting.some((waiter) => isAlike(waiter, wish))
  const pod = isBehind ? undefined : choosePod(picker, choice, wish)
  if (pod === undefined) return waitForSlot(picker, wish, signal)
  addRequest(picker.load, pod)
  return Promise.resolve(pod)
}

function waitForSlot({ waiting }: Picker, wish: Wish, signal: AbortSignal): Promise<Pod> {
  const waiter = { ...wish, ...Promise.withResolvers<Pod>() }
  const firstNew = wish.like ? waiting.findIndex(({ like }) => like === undefined) : -1
  waiting.splice(firstNew < 0 ? waiting.length : firstNew, 0, waiter)
  const abort = (): void => {
    const index = waiting.indexOf(waiter)
    if (index < 0) return // has its pod already; `use` gives it back
    waiting.splice(index, 1)
    waiter.reject(noPod())
  }
  signal.addEventListener('abort', abort, { once: true })
  // Node keeps a signal of `AbortSignal.any` for as long as somebody listens to it: with every task that had waited.
  return waiter.promise.finally(() => signal.removeEventListener('abort', abort))
}

/** Hands free slots to those who wait, and sends away those whose last pod has gone. */
function serveWaiting(picker: Picker): void {
  const { waiting, load } = picker
  if (waiting.length === 0) return
  const full: Wish[] = []
  for (const waiter of [...waiting]) {
    if (full.some((wish) => isAlike(wish, waiter))) continue
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

const isAlike = (a: Wish, b: Wish): boolean =>
  a.modelVersion === b.modelVersion &&
  a.isRetry === b.isRetry &&
  (a.like && revisionKey(a.like)) === (b.like && revisionKey(b.like))

const noPod = (): InferenceError => new InferenceError('unavailable', 'no ready pod serves this model')
