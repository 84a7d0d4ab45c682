// The leader receives every nudge, also while no pod exists and so nobody pulls them: besides being in a stream a nudge
// is an ordinary message, and a plain subscription gets a copy of it without taking it from a consumer. A nudge wakes a
// pool from zero; the reconcile pass of each second covers a nudge that was lost.
import type { Bus } from '@matte/core/bus/bus'
import { modelOf, subjects } from '@matte/core/bus/streams'
import { repeat } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'

type NudgeListenerOptions = {
  readonly bus: Bus
  readonly leads: () => boolean
  readonly wake: (modelVersion: string) => void
}

/** How soon a lost connection or a new leadership is noticed. */
const checkEveryMs = 500

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
      // A closed connection ends the subscription, with or without an error; the next connection gets a new one.
      if (leads()) await listen().catch(() => undefined)
      return checkEveryMs
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
