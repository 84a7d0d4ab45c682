import { describe, expect, it } from 'vitest'
import { parseBlock, parseEventStream } from './event-stream.ts'

async function* chunksOf(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size)
}

async function parse(text: string, size: number) {
  const blocks = []
  for await (const block of parseEventStream(chunksOf(text, size))) blocks.push(block)
  return blocks
}

const stream = `retry: 1734
id: 41
event: ready
data: {"secret":"whsec_ü"}

id: 42\r
event: webhook\r
data: {"event":"x"}\r
\r
: still here
id: 57

id: 58
data: torn`

describe('the stream of events', () => {
  it.each([1, 2, 3, 7, 10_000])('is read alike in chunks of %i bytes', async (size) => {
    expect(await parse(stream, size)).toEqual([
      { retryMs: 1_734, id: '41', event: 'ready', data: '{"secret":"whsec_ü"}' },
      { id: '42', event: 'webhook', data: '{"event":"x"}' },
      { id: '57' },
    ])
  })

  it('joins lines of data, and ignores comments and unknown fields', () => {
    expect(parseBlock(': hello\ndata: a\ndata\ndata:b\nfoo: bar')).toEqual({ data: 'a\n\nb' })
  })

  it('does not fill the memory with an event that never ends', async () => {
    const endless = `data: ${'x'.repeat(2_000_000)}`
    await expect(parse(endless, 65_536)).rejects.toThrow('longer than a megabyte')
  })
})
