// Which pod gets the next picture: the least loaded one with a free slot. A picture that finds none waits its turn,
// first come first served, until a slot frees or its signal ends the wait.
import { InferenceError } from './inference-error.ts'
import type { Pod, PodSource } from './pod-source.ts'

export type PodPicker = {
  /** Runs `work` on a slot of a ready pod for this model version. @throws InferenceError unavailable: no such pod. */
  withSlot<T>(modelVersion: string, signal: AbortSignal, work: (pod: Pod) => Promise<T>): Promise<T>
  /** Side of the model's input in pixels, so that it can be made before a slot is taken. @throws InferenceError */
  inputSize(modelVersion: string): number
  /** Requests in flight over all pods. */
  slotsUsed(): number
}

type Waiter = {
  readonly modelVersion: string
  readonly resolve: (pod: Pod) => void
  readonly reject: (error: InferenceError) => void
}

export function createPodPicker(source: PodSource): PodPicker {
  const used = new Map<string, number>()
  const waiting: Waiter[] = []
  const loadOf = (pod: Pod): number => used.get(pod.address) ?? 0

  function free(modelVersion: string): Pod | undefined {
    return source
      .pods()
      .filter((pod) => pod.modelVersions.includes(modelVersion) && loadOf(pod) < pod.shape.slots)
      .sort((a, b) => loadOf(a) / a.shape.slots - loadOf(b) / b.shape.slots)[0]
  }

  const anyPod = (modelVersion: string): Pod | undefined =>
    source.pods().find((pod) => pod.modelVersions.includes(modelVersion))
  const serves = (modelVersion: string): boolean => anyPod(modelVersion) !== undefined

  const take = (pod: Pod): Pod => {
    used.set(pod.address, loadOf(pod) + 1)
    return pod
  }

  function giveBack(pod: Pod): void {
    const left = loadOf(pod) - 1
    if (left > 0) used.set(pod.address, left)
    else used.delete(pod.address)
    serveWaiting()
  }

  /** Hands free slots to those who wait, and sends away those whose last pod has gone. */
  function serveWaiting(): void {
    for (const waiter of [...waiting]) {
      const pod = free(waiter.modelVersion)
      if (pod === undefined && serves(waiter.modelVersion)) continue
      waiting.splice(waiting.indexOf(waiter), 1)
      if (pod) waiter.resolve(take(pod))
      else waiter.reject(noPod())
    }
  }
  source.onChange(serveWaiting)

  function slot(modelVersion: string, signal: AbortSignal): Promise<Pod> {
    if (signal.aborted || !serves(modelVersion)) return Promise.reject(noPod())
    const pod = free(modelVersion)
    if (pod) return Promise.resolve(take(pod))
    const { promise, resolve, reject } = Promise.withResolvers<Pod>()
    const waiter: Waiter = { modelVersion, resolve, reject }
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
    withSlot: async (modelVersion, signal, work) => {
      const pod = await slot(modelVersion, signal)
      try {
        return await work(pod)
      } catch (error) {
        if (error instanceof InferenceError && error.kind === 'unavailable' && !signal.aborted) source.eject(pod)
        throw error
      } finally {
        giveBack(pod)
      }
    },
    inputSize: (modelVersion) => {
      const pod = anyPod(modelVersion)
      if (pod === undefined) throw noPod()
      return pod.shape.inputSize
    },
    slotsUsed: () => [...used.values()].reduce((sum, count) => sum + count, 0),
  }
}

const noPod = (): InferenceError => new InferenceError('unavailable', 'no ready pod serves this model')
