// A picker over named pods, and requests that hold their slots until `free` is called.
import { createPodPicker, type PodPicker } from './pod-picker.ts'
import type { Pod, PodSource } from './pod-source.ts'

const never = new AbortController().signal

export const pod = (address: string, slots: number, changes: Partial<Pod> = {}): Pod => ({
  address,
  name: address,
  pool: 'standard',
  revision: 'a',
  role: 'stable',
  weight: 100,
  tritonModel: 'u2netp',
  modelVersions: ['service-v2'],
  client: {} as Pod['client'],
  shape: { inputSize: 320, slots, views: 1 },
  podSlots: slots,
  onProbation: false,
  ...changes,
})

export function given(...pods: Pod[]) {
  const listeners: (() => void)[] = []
  const reports: string[] = []
  let ready = pods
  const set = (next: Pod[]): void => {
    ready = next
    for (const listener of listeners) listener()
  }
  const source = {
    pods: () => ready,
    report: ({ address }: Pod, outcome: string) => reports.push(`${address} ${outcome}`),
    onChange: (listener: () => void) => listeners.push(listener),
  } as unknown as PodSource // a picker uses nothing else of it
  return { picker: createPodPicker(source, () => 0), set, reports }
}

export const wish = (modelVersion: string) => ({ modelVersion, isRetry: false })

type Wish = Parameters<PodPicker['takeSlot']>[0]

export async function withSlot<T>(
  picker: PodPicker,
  asked: Wish & { signal?: AbortSignal },
  work: (pod: Pod) => Promise<T>,
) {
  const { signal = never, ...rest } = asked
  const { pod: chosen, use } = await picker.takeSlot(rest, signal)
  return use(signal, () => work(chosen))
}

/** Takes a slot and holds it until `free` is called. */
export function hold(picker: PodPicker, signal = never, version: string | Wish = 'service-v2') {
  const { promise, resolve } = Promise.withResolvers<void>()
  let on: string | undefined
  const work = async ({ address }: Pod): Promise<string> => {
    on = address
    await promise
    return address
  }
  const done = withSlot(picker, { ...(typeof version === 'string' ? wish(version) : version), signal }, work)
  done.catch(() => undefined)
  return { done, free: resolve, on: () => on }
}
