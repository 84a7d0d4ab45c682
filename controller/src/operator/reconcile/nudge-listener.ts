// The leader receives every nudge by a plain subscription, which takes none from a consumer. A nudge wakes a pool from
// zero; the pass of each second covers lost nudges.
import type { Bus } from '@matte/core/bus/bus'
import { modelOf, subjects } from '@matte/core/bus/streams'
import { repeat } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'

type NudgeListenerOptions = {
  readonly bus: Bus
  readonly leads: () => boolean
  readonly wake: (modelVersion: string) => void
}

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
      // A closed connection ends the subscription; the next one gets a new subscription.
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
