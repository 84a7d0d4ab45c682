// A plain subscription for the life of the process: every listener gets each message, and none is stored. Messages are
// hints only.
import { repeat } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import type { Bus } from './bus.ts'

type ListenOptions = { readonly bus: Bus; readonly subject: string; readonly heard: (text: string) => void }

const checkEveryMs = 500

export function listen({ bus, subject, heard }: ListenOptions): Service {
  let end: (() => void) | undefined

  async function hear(signal: AbortSignal): Promise<void> {
    const connection = bus.connection()
    if (connection === undefined) return
    const subscription = connection.subscribe(subject)
    end = () => subscription.unsubscribe()
    if (signal.aborted) end()
    for await (const message of subscription) heard(message.string())
  }

  const listening = repeat({
    name: `listen-${subject}`,
    pass: async (signal) => {
      // A closed connection ends the subscription; the next connection gets a new one.
      await hear(signal).catch(() => undefined)
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
