import type { KubeClient, Resource, WatchEvent } from '../client.ts'
import { refusal } from '../http/kube-error.ts'
import type { KubeObject } from '../objects.ts'
import { type Ending, endingOf } from './watch-ending.ts'

/** A watch that the server has begun to answer. */
export type WatchSession = {
  /** Names that events were about since a comparison began; undefined when none is under way. */
  touched: Set<string> | undefined
  end(ending: Ending): void
}

export type ObjectEvent<T> = Exclude<WatchEvent<T>, { type: 'ERROR' }>

type WatchOnceOptions<T extends KubeObject> = {
  readonly kube: KubeClient
  readonly resource: Resource<T>
  readonly labelSelector?: string
  readonly resourceVersion: string
  readonly idleMs: number
  readonly onData: (session: WatchSession) => void
  readonly onEvent: (event: ObjectEvent<T>) => void
}

/** Between 240 and 300 s, at random: the watches of many processes shall not all end together. */
const watchSeconds = (): number => 240 + Math.floor(Math.random() * 61)

/** Watches until that ends, for whatever reason; never rejects. */
export async function watchOnce<T extends KubeObject>(
  { kube, resource, labelSelector, resourceVersion, idleMs, onData, onEvent }: WatchOnceOptions<T>,
  signal: AbortSignal,
): Promise<Ending> {
  const cut = new AbortController()
  let ending: Ending | undefined
  const end = (why: Ending): void => {
    ending ??= why
    cut.abort()
  }
  const watchdog = setTimeout(() => end({ reason: 'idle', relist: false }), idleMs)
  const session: WatchSession = { touched: undefined, end }
  try {
    const events = kube.watch(resource, {
      resourceVersion,
      labelSelector,
      timeoutSeconds: watchSeconds(),
      signal: AbortSignal.any([signal, cut.signal]),
      onData: () => {
        onData(session)
        watchdog.refresh()
      },
    })
    for await (const event of events) {
      if (event.type === 'ERROR') return endingOf(refusal(`watch ${resource.plural}`, event.object))
      session.touched?.add(event.object.metadata.name)
      onEvent(event)
    }
    return { reason: 'ended', relist: false }
  } catch (error) {
    return ending ?? endingOf(error)
  } finally {
    clearTimeout(watchdog)
  }
}
