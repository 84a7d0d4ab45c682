import { MatteError } from '../error.ts'
import { isRetryableStatus } from '../http/answer-errors.ts'
import { withDeadline } from '../http/deadline.ts'
import type { Transport } from '../http/transport.ts'
import { readWhole, type Source } from '../source.ts'
import { openBlob } from './blob.ts'

/** Fetches an image from any host, without the API key. */
export async function fetchImage(
  { config, retrying }: Transport,
  url: string,
  signal: AbortSignal | undefined,
): Promise<Source> {
  const blob = await retrying(
    () =>
      withDeadline(config.timeoutMs, signal, async (deadline) => {
        const response = await config.fetch(url, { signal: deadline.signal })
        if (!response.ok) throw notFetched(response.status)
        const type = response.headers.get('content-type')?.split(';')[0] ?? ''
        return new Blob(response.body ? await readWhole(response.body, deadline.touch) : [], { type })
      }),
    { url, signal },
  )
  const name = /^https?:/i.test(url) ? new URL(url).pathname.split('/').at(-1) : undefined
  return openBlob(blob, name)
}

const notFetched = (status: number) =>
  new MatteError('CLIENT_INPUT', `The image could not be fetched: its server answered ${status}.`, {
    status,
    retryable: isRetryableStatus(status),
  })
