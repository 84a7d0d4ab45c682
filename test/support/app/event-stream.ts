// Reader of server-sent events over `fetch`, which can send a token.
import { until } from '../until.ts'

export type Event = { readonly id: string; readonly event: string; readonly data: Record<string, unknown> }

export type EventReader = {
  readonly status: number
  readonly headers: Headers
  /** Events so far, without comments and events without data. */
  readonly events: readonly Event[]
  readonly comments: readonly string[]
  /** Last event id, as a client keeps it for `Last-Event-ID`. */
  lastId(): string
  hasEnded(): boolean
  /** Waits for an event of this type for the task. */
  untilType(taskId: string, type: string): Promise<Event>
  close(): Promise<void>
}

type Options = { readonly lastEventId?: string; readonly headers?: Record<string, string> }

export async function readEvents(origin: string, token: string, options: Options = {}): Promise<EventReader> {
  const leaving = new AbortController()
  const { lastEventId, headers = {} } = options
  const response = await fetch(`${origin}/api/v1/app/tasks/stream`, {
    headers: {
      authorization: `Bearer ${token}`,
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
      ...headers,
    },
    signal: leaving.signal,
  })
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
  const find = (taskId: string, type: string) =>
    events.find(({ data }) => data.taskId === taskId && data.event_type === type)
  return {
    status: response.status,
    headers: response.headers,
    events,
    comments,
    lastId: () => lastId,
    hasEnded: () => ended,
    untilType: (taskId, type) => until(`the stream says ${type}`, () => find(taskId, type)),
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
