// Server-sent events, parsed chunk by chunk. Libraries report no block without data, and heartbeats are such blocks:
// they carry only an id, the position to resume from.

export type Block = {
  readonly id?: string
  readonly event?: string
  readonly data?: string
  readonly retryMs?: number
}

/** Bound of one event, so a broken server cannot fill the memory. Bodies of events are a few kilobytes. */
const blockCharactersMax = 1_000_000

/** @throws Error when a block exceeds its bound */
export async function* parseEventStream(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Block> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    rest = (rest + decoder.decode(chunk, { stream: true })).replaceAll('\r\n', '\n')
    const blocks = rest.split('\n\n')
    rest = blocks.pop() ?? ''
    if (rest.length > blockCharactersMax) throw new Error('an event of the stream is longer than a megabyte')
    yield* blocks.map(parseBlock)
  }
}

export function parseBlock(text: string): Block {
  const fields = new Map<string, string[]>()
  for (const line of text.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? []
    // A line that begins with a colon is a comment.
    if (name !== '') fields.set(name, [...(fields.get(name) ?? []), value])
  }
  const last = (name: string): string | undefined => fields.get(name)?.at(-1)
  const [id, event, data, retry] = [last('id'), last('event'), fields.get('data')?.join('\n'), last('retry')]
  return {
    ...(id !== undefined && { id }),
    ...(event !== undefined && { event }),
    ...(data !== undefined && { data }),
    ...(retry !== undefined && /^\d{1,9}$/.test(retry) && { retryMs: Number(retry) }),
  }
}
