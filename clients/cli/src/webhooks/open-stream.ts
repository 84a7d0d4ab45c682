// One connection to the stream of events. Reconnecting is up to the caller.
import { MatteError } from 'matte-client'
import { parseEventStream } from 'matte-client/app'

/** Position in the stream; changed while events are read. */
export type StreamPosition = { lastId: string | undefined; retryMs: number | undefined }

export type StreamRequest = {
  readonly apiKey: string
  readonly baseUrl: string
  readonly eventTypes: readonly string[]
  readonly position: StreamPosition
  readonly signal: AbortSignal
}

/** The service sends a heartbeat after 15 s of silence at the latest. */
const silenceMsMax = 45_000

/**
 * Yields events until the service ends the stream. The position moves past an event once the caller asks for the next
 * one, so an event that was not handled comes again after a reconnect.
 * @throws MatteError when the connection fails or the service refuses
 */
export async function* openStream(request: StreamRequest): AsyncGenerator<{ event: string; data: string }> {
  const silence = new AbortController()
  const isQuiet = () => silence.abort()
  let timer = setTimeout(isQuiet, silenceMsMax)
  const hear = (): void => {
    clearTimeout(timer)
    timer = setTimeout(isQuiet, silenceMsMax)
  }
  try {
    const body = await connect(request, AbortSignal.any([request.signal, silence.signal]))
    for await (const { id, event, data, retryMs } of parseEventStream(heard(body, hear))) {
      if (retryMs !== undefined) request.position.retryMs = retryMs
      if (data !== undefined) yield { event: event ?? 'message', data }
      if (id !== undefined) request.position.lastId = id
      hear()
    }
  } catch (cause) {
    if (cause instanceof MatteError || request.signal.aborted) throw cause
    const message = silence.signal.aborted ? 'The stream of events fell silent.' : 'The connection was lost.'
    throw new MatteError('CLIENT_CONNECTION', message, { retryable: true, cause })
  } finally {
    clearTimeout(timer)
  }
}

async function* heard(chunks: AsyncIterable<Uint8Array>, hear: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    hear()
    yield chunk
  }
}

async function connect(request: StreamRequest, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
  const { baseUrl, apiKey, eventTypes, position } = request
  const query = eventTypes.length === 0 ? '' : `?${new URLSearchParams({ eventTypes: eventTypes.join(',') })}`
  const response = await fetch(`${baseUrl}/open/developer/webhooks/stream${query}`, {
    headers: {
      'X-API-Key': apiKey,
      Accept: 'text/event-stream',
      ...(position.lastId !== undefined && { 'Last-Event-ID': position.lastId }),
    },
    redirect: 'error',
    signal,
  })
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  if (response.ok && isStream && response.body) return response.body
  throw await toError(response)
}

type Envelope = {
  readonly request_id?: string
  readonly error?: { readonly code: string; readonly message: string; readonly details?: Record<string, unknown> }
}

async function toError(response: Response): Promise<MatteError> {
  const { status, headers } = response
  const { error, request_id: requestId } = (await response.json().catch(() => ({}))) as Envelope // or of a proxy
  const retryAfter = Number(headers.get('retry-after') ?? Number.NaN)
  const message = error?.message ?? `The answer is ${status} and no stream of events. Check the base URL.`
  return new MatteError(error?.code ?? 'CLIENT_CONNECTION', message, {
    status,
    details: error?.details,
    requestId: requestId ?? headers.get('x-request-id') ?? undefined,
    retryAfterMs: Number.isFinite(retryAfter) ? retryAfter * 1_000 : undefined,
  })
}
