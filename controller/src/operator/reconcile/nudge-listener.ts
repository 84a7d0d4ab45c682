// The leader hears every nudge, also while no pod is there for anyone to pull them: a nudge is an ordinary message
// besides being one of a stream, and a plain subscription gets its copy without taking it from whoever pulls. A pool is
// woken from zero by it; the tick of a second covers what was not heard.
import type { Bus } from '@matte/core/bus/bus'
import { modelOf, subjects } from '@matte/core/bus/streams'
import { repeat } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'

export type NudgeListenerOptions = {
  readonly bus: Bus
  readonly leads: () => boolean
  readonly wake: (modelVersion: string) => void
}

/** How soon a lost connection or a new leadership is noticed. */
const retryMs = 500

export function nudgeListener({ bus, leads, wake }: NudgeListenerOptions): Service {
  let end: (() => void) | undefined

  async function listen(): Promise<void> {
    const connection = bus.connection()
    if (connection === undefined) return
    const subscription = connection.subscribe(subjects.task(bus.prefix, '>'))
    end = () => subscription.unsubscribe()
    for await (const { subject } of subscription) {
      if (!leads()) break
      wake(modelOf(subject))
    }
    subscription.unsubscribe()
    end = undefined
  }

  const listening = repeat({
    name: 'nudge-listener',
    pass: async () => {
      // A connection that closes ends the subscription, with or without an error: it is made again on the next one.
      if (leads()) await listen().catch(() => undefined)
      return retryMs
    },
  })
  return {
    ...listening,
    stop: async () => {
      const stopped = listening.stop()
      end?.()
      await stopped
    },
  }
}
