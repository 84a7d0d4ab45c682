// Sends the trace's requests at their times, whatever became of earlier ones.
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { Trace } from '../../sim/trace.ts'
import type { Caller } from '../accept/world.ts'

export type Sender = { send(): Promise<string>; close(): Promise<void> }

/** Creates tasks of one workspace for one model; resolves with the id of the task. */
export function createSender(origin: string, { apiKey, objectKey }: Caller, modelVersion: string): Sender {
  const dispatcher = new Agent({ connections: 16 })
  const body = JSON.stringify({ imageUrl: objectKey, modelVersion })
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
  return {
    send: async () => {
      const url = `${origin}/api/v1/open/developer/tasks`
      const answer = await request(url, { method: 'POST', dispatcher, headers, body })
      const { data, error } = (await answer.body.json()) as { data?: { id: string }; error?: { code: string } }
      if (data === undefined) throw new Error(`a task was refused: ${answer.statusCode} ${error?.code}`)
      return data.id
    },
    close: () => dispatcher.close(),
  }
}

/** Returns at the end of the trace, once every creation is answered. */
export async function playTrace({ arrivals, seconds }: Trace, senders: readonly Sender[]): Promise<void> {
  const begun = performance.now()
  const until = (second: number) => pause(Math.max(0, begun + second * 1_000 - performance.now()))
  const sent: Promise<unknown>[] = []
  for (const arrival of arrivals) {
    await until(arrival)
    for (const sender of senders) {
      const one = sender.send()
      one.catch(() => undefined) // reported below
      sent.push(one)
    }
  }
  await until(seconds)
  await Promise.all(sent)
}
