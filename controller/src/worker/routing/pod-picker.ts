// Which pod gets the next picture: the revision by its share, and of its pods the least loaded one with a free slot. A
// picture that finds none waits its turn, first come first served, until a slot frees or its signal ends the wait.
import { InferenceError } from '../triton/inference-error.ts'
import { type Pod, type PodSource, takesPictures } from './pod-source.ts'

export type SlotOptions = {
  /**
   * The picture has lost an attempt already. It goes to a stable pod in good standing where there is one: a pod that is
   * being tried, or tried again, would meet the same few pictures each time, and they would fail by it.
   */
  readonly isRetry?: boolean
}

export type PodPicker = {
  /** Runs `work` on a slot of a ready pod for this model version. @throws InferenceError unavailable: no such pod. */
  withSlot<T>(
    modelVersion: string,
    signal: AbortSignal,
    work: (pod: Pod) => Promise<T>,
    options?: SlotOptions,
  ): Promise<T>
  /**
   * Side of the model's input in pixels, so that it can be made before a slot is taken. While a pool tries a model of
   * another size, the pod that is chosen later may differ. @throws InferenceError
   */
  inputSize(modelVersion: string): number
  /** Requests in flight over all pods. */
  slotsUsed(): number
  /** Requests in flight to the pod at this address. */
  slotsOn(address: string): number
  slotsByRevision(): readonly { readonly pool: string; readonly revision: string; readonly slots: number }[]
}

/** What a picture asks for. */
type Wish = { readonly modelVersion: string; readonly isRetry: boolean }

type Waiter = Wish & {
  readonly resolve: (pod: Pod) => void
  readonly reject: (error: InferenceError) => void
}

/** The pods of one model version, by what their revision is. */
type Choice = {
  readonly stable: Pod[]
  readonly canary: Pod[]
  readonly other: Pod[]
  /** Those of `stable` that are not on probation. */
  readonly proven: Pod[]
}

/** What is in flight on one address. */
type Load = { total: number; readonly byModel: Map<string, number>; pickedAt: number }

export function createPodPicker(source: PodSource, random: () => number = Math.random): PodPicker {
  const loads = new Map<string, Load>()
  const inFlight = new Map<string, { readonly pool: string; readonly revision: string; slots: number }>()
  const waiting: Waiter[] = []
  const shares = createShares()
  // Replicas that are all idle would otherwise send their next picture to the same pod.
  const firstLooked = Math.floor(random() * 1_000)
  let picks = 0
  let indexed: readonly Pod[] | undefined
  let choices = new Map<string, Choice>()

  function choiceFor(modelVersion: string): Choice | undefined {
    const pods = source.pods()
    if (pods !== indexed) {
      indexed = pods
      choices = indexPods(pods)
      shares.keepOnly(pods)
      for (const [address, { total }] of loads) if (total === 0) loads.delete(address)
    }
    return choices.get(modelVersion)
  }

  function leastLoaded(pods: readonly Pod[]): Pod | undefined {
    let best: Pod | undefined
    let bestLoad: Load | undefined
    let bestShare = 1
    for (let index = 0; index < pods.length; index++) {
      const pod = pods[(firstLooked + index) % pods.length]
      if (pod === undefined) continue
      const load = loads.get(pod.address)
      const share = (load?.total ?? 0) / pod.podSlots
      if (share > bestShare || share >= 1) continue
      if ((load?.byModel.get(pod.tritonModel) ?? 0) >= pod.shape.slots) continue
      // Of equals the one that rested longest: no pod is worn by being first in the list.
      if (share === bestShare && best && (load?.pickedAt ?? 0) >= (bestLoad?.pickedAt ?? 0)) continue
      best = pod
      bestLoad = load
      bestShare = share
    }
    return best
  }

  /** A pod with a free slot, and the revision's turn counted. */
  function pick({ stable, canary, other, proven }: Choice, { isRetry }: Wish): Pod | undefined {
    const [tried] = canary
    if (isRetry && proven.length > 0) return leastLoaded(proven)
    if (stable.length === 0 && tried === undefined) return leastLoaded(other)
    if (stable.length === 0) return leastLoaded(canary)
    if (tried === undefined) return leastLoaded(stable)
    const isTurn = shares.isCanarysTurn(tried)
    const pod = (isTurn ? leastLoaded(canary) : undefined) ?? leastLoaded(stable)
    if (pod) shares.count(tried, pod.role === 'canary')
    return pod
  }

  function take(pod: Pod): Pod {
    const load = loads.get(pod.address) ?? { total: 0, byModel: new Map<string, number>(), pickedAt: 0 }
    load.total++
    load.byModel.set(pod.tritonModel, (load.byModel.get(pod.tritonModel) ?? 0) + 1)
    load.pickedAt = ++picks
    loads.set(pod.address, load)
    const { pool, revision } = pod
    const own = inFlight.get(`${pool} ${revision}`) ?? { pool, revision, slots: 0 }
    own.slots++
    inFlight.set(`${pool} ${revision}`, own)
    return pod
  }

  function giveBack({ address, tritonModel, pool, revision }: Pod): void {
    const load = loads.get(address)
    if (load) {
      load.total--
      load.byModel.set(tritonModel, (load.byModel.get(tritonModel) ?? 1) - 1)
    }
    const own = inFlight.get(`${pool} ${revision}`)
    if (own && --own.slots === 0) inFlight.delete(`${pool} ${revision}`)
    serveWaiting()
  }

  /** Hands free slots to those who wait, and sends away those whose last pod has gone. */
  function serveWaiting(): void {
    const full: Wish[] = []
    for (const waiter of [...waiting]) {
      if (full.some((wish) => isAlike(wish, waiter))) continue
      const choice = choiceFor(waiter.modelVersion)
      const pod = choice && pick(choice, waiter)
      if (choice && pod === undefined) {
        full.push(waiter)
        continue
      }
      waiting.splice(waiting.indexOf(waiter), 1)
      if (pod) waiter.resolve(take(pod))
      else waiter.reject(noPod())
    }
  }
  source.onChange(serveWaiting)

  function slot(wish: Wish, signal: AbortSignal): Promise<Pod> {
    const choice = choiceFor(wish.modelVersion)
    if (signal.aborted || choice === undefined) return Promise.reject(noPod())
    const pod = waiting.some((waiter) => isAlike(waiter, wish)) ? undefined : pick(choice, wish)
    if (pod) return Promise.resolve(take(pod))
    const { promise, resolve, reject } = Promise.withResolvers<Pod>()
    const waiter: Waiter = { ...wish, resolve, reject }
    waiting.push(waiter)
    const abort = (): void => {
      const index = waiting.indexOf(waiter)
      if (index < 0) return // has its pod already; `withSlot` gives it back
      waiting.splice(index, 1)
      reject(noPod())
    }
    signal.addEventListener('abort', abort, { once: true })
    // Node keeps a signal of `AbortSignal.any` for as long as somebody listens to it: with every task that had waited.
    return promise.finally(() => signal.removeEventListener('abort', abort))
  }

  return {
    withSlot: async (modelVersion, signal, work, { isRetry = false } = {}) => {
      const pod = await slot({ modelVersion, isRetry }, signal)
      try {
        const result = await work(pod)
        source.report(pod, 'ok')
        return result
      } catch (error) {
        if (error instanceof InferenceError && !signal.aborted) source.report(pod, error.kind)
        throw error
      } finally {
        giveBack(pod)
      }
    },
    inputSize: (modelVersion) => {
      const choice = choiceFor(modelVersion)
      const pod = choice?.stable[0] ?? choice?.canary[0] ?? choice?.other[0]
      if (pod === undefined) throw noPod()
      return pod.shape.inputSize
    },
    slotsUsed: () => [...loads.values()].reduce((sum, { total }) => sum + total, 0),
    slotsOn: (address) => loads.get(address)?.total ?? 0,
    slotsByRevision: () => [...inFlight.values()],
  }
}

const isAlike = (a: Wish, b: Wish): boolean => a.modelVersion === b.modelVersion && a.isRetry === b.isRetry

function indexPods(pods: readonly Pod[]): Map<string, Choice> {
  const choices = new Map<string, Choice>()
  for (const pod of pods.filter(takesPictures)) {
    for (const version of pod.modelVersions) {
      const choice = choices.get(version) ?? { stable: [], canary: [], other: [], proven: [] }
      choice[pod.role].push(pod)
      if (pod.role === 'stable' && !pod.onProbation) choice.proven.push(pod)
      choices.set(version, choice)
    }
  }
  return choices
}

/**
 * Whose turn it is while a pool tries a revision: counted, not drawn, so that of any hundred pictures the canary gets its
 * weight ± 1. A turn that finds all canary slots taken goes to the stable revision and is kept for once, no more: the
 * canary may get less than its share, and never catches up by a rush. Each model of a pool counts its own, else two
 * models that take turns could send all of the one's pictures to the canary.
 */
function createShares() {
  const owed = new Map<string, number>()
  const key = ({ pool, tritonModel, revision }: Pod): string => `${pool} ${tritonModel} ${revision}`
  return {
    isCanarysTurn: (canary: Pod): boolean => (owed.get(key(canary)) ?? 0) + canary.weight >= 100,
    count: (canary: Pod, taken: boolean): void => {
      const due = (owed.get(key(canary)) ?? 0) + canary.weight
      owed.set(key(canary), taken ? due - 100 : Math.min(due, 100))
    },
    keepOnly: (pods: readonly Pod[]): void => {
      const keys = new Set(pods.filter(({ role }) => role === 'canary').map(key))
      for (const known of owed.keys()) if (!keys.has(known)) owed.delete(known)
    },
  }
}

const noPod = (): InferenceError => new InferenceError('unavailable', 'no ready pod serves this model')
