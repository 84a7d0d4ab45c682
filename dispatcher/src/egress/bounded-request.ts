import { type Dispatcher, request } from 'undici'
import { AttemptFailure } from './attempt-failure.ts'

/** Servers send none or one, such as 103 with links. Each may have 16 KiB of headers, and none counts as an answer. */
const informationalMax = 16

type Options = {
  readonly dispatcher: Dispatcher
  readonly method: 'GET' | 'POST'
  readonly headers: Record<string, string>
  readonly body?: string
  readonly signal: AbortSignal
}

/** `request` of undici. Rejects with an AttemptFailure when a server sends informational responses without end. */
export async function boundedRequest(url: URL, options: Options): Promise<Dispatcher.ResponseData> {
  let informed = 0
  const onInfo = (): void => {
    informed += 1
    if (informed <= informationalMax) return
    throw new AttemptFailure('PROTOCOL_ERROR', new Error('informational responses without end'))
  }
  return request(url, { ...options, onInfo })
}
