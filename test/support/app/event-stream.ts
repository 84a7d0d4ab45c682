// Reader of server-sent events over `fetch`, which can send a token.
import { until } from '../until.ts'

export type Event = { readonly id: string; readonly event: string; readonly data: Record<string, unknown> }

export type StreamReader = {
  readonly status: number
  readonly headers: Headers
  /** Events so far, without comments and events without data. */
  readonly events: readonly Event[]
  readonly comments: readonly string[]
  /** Last event id, as a client keeps it for `Last-Event-ID`. */
  lastId(): string
  hasEnded(): boolean
  close(): Promise<void>
}

/** A reader of `GET /app/tasks/stream`. */
export type EventReader = StreamReader & {
  /** Waits for an event of this type for the task. */
  untilType(taskId: string, type: string): Promise<Event>
}

type Options = { readonly lastEventId?: string; readonly headers?: Record<string, string> }

export async function readEvents(origin: string, token: string, options: Options = {}): Promise<EventReader> {
  const { lastEventId, headers = {} } = options
  const reader = await readStream(`${origin}/api/v1/app/tasks/stream`, {
    authorization: `Bearer ${token}`,
    ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    ...headers,
  })
  const find = (taskId: string, type: string) =>
    reader.events.find(({ data }) => data.taskId === taskId && data.event_type === type)
  return { ...reader, untilType: (taskId, type) => until(`the stream says ${type}`, () => find(taskId, type)) }
}

export async function readStream(url: string, headers: Record<string, string>): Promise<StreamReader> {
  const leaving = new AbortController()
  const response = await fetch(url, { headers, signal: leaving.signal })
  const events: Event[] = []
  const comments: string[] = []
  let [lastId, ended] = ['', false]

  function take(block: string): void {
    const fields = new Map<string, string>()
    for (const line of block.split('\n')) {
      if (line.startsWith(':')) comments.push(line)
      const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? []
      if (name !== undefined && value !== undefined) fields.set(name, value)
    }
    lastId = fields.get('id') ?? lastId
    const data = fields.get('data')
    if (data !== undefined) events.push({ id: lastId, event: fields.get('event') ?? 'message', data: JSON.parse(data) })
  }

  async function readAll(): Promise<void> {
    let text = ''
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true })
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      blocks.forEach(take)
    }
  }
  const reading = readAll()
    .catch(() => undefined)
    .finally(() => {
      ended = true
    })
  return {
    status: response.status,
    headers: response.headers,
    events,
    comments,
    lastId: () => lastId,
    hasEnded: () => ended,
    close: async () => {
      leaving.abort()
      await reading
    },
  }
}

/** Opens a stream; resolves when it has begun, so later events arrive. */
export async function givenStream(origin: string, token: string, options: Options = {}): Promise<EventReader> {
  const reader = await readEvents(origin, token, options)
  if (reader.status !== 200) throw new Error(`the stream was answered ${reader.status}`)
  await until('the stream says where it begins', () => reader.lastId() !== '')
  return reader
}
