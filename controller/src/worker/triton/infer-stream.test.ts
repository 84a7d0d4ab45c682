import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { InferStream } from './infer-stream.ts'
import { buildRequest, createIdleStreams, type InferInput, readMask, readMessage } from './infer-stream.ts'
import { InferenceError } from './inference-error.ts'

const input: InferInput = {
  model: 'u2netp',
  id: 'task/1/claim',
  image: Buffer.alloc(2 * 2 * 3),
  size: 2,
  timeoutMs: 1_000,
  signal: new AbortController().signal,
}
const answer = (id: string, ...bytes: number[]) => ({ id, outputs: [], raw_output_contents: [Buffer.from(bytes)] })

describe('buildRequest', () => {
  it('names the model and contains the unchanged bytes of the image', () => {
    const request = buildRequest(input)
    expect(request).toMatchObject({ model_name: 'u2netp', id: 'task/1/claim', inputs: [{ shape: [1, 2, 2, 3] }] })
    expect(request.raw_input_contents[0]).toBe(input.image)
  })
})

describe('readMessage', () => {
  it('returns the answer, the error, or nothing', () => {
    const good = answer(input.id, 1)
    expect(readMessage({ infer_response: good })).toBe(good)
    expect(readMessage({ error_message: 'no', infer_response: good })).toBeInstanceOf(InferenceError)
    expect(readMessage({ error_message: '', infer_response: null })).toBeUndefined()
  })
})

describe('readMask', () => {
  it('returns the only output of a request', () => {
    expect([...readMask(answer(input.id, 1, 2, 3, 4), input)]).toEqual([1, 2, 3, 4])
  })

  it.each([
    ['of another request', answer('other', 1, 2, 3, 4)],
    ['of another size', answer(input.id, 1, 2, 3)],
    ['without an output', { ...answer(input.id), raw_output_contents: [] }],
  ])('refuses an answer %s', (_name, wrong) => {
    expect(() => readMask(wrong, input)).toThrow(InferenceError)
  })
})

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const stream = (isAlive = true): InferStream => ({
  isTraced: false,
  isAlive: () => isAlive,
  end: vi.fn(),
  ask: () => Promise.reject(new Error('not asked for')),
})

describe('createIdleStreams', () => {
  it('returns the stream used last, once', () => {
    const idle = createIdleStreams(1_000)
    const [first, second] = [stream(), stream()]
    idle.add(first)
    idle.add(second)
    expect([idle.take(), idle.take(), idle.take()]).toEqual([second, first, undefined])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('drops a stream that died idle', () => {
    const idle = createIdleStreams(1_000)
    const alive = stream()
    idle.add(alive)
    idle.add(stream(false))
    expect(idle.take()).toBe(alive)
  })

  it('ends each stream after its idle time', () => {
    const idle = createIdleStreams(1_000)
    const [old, young] = [stream(), stream()]
    idle.add(old)
    vi.advanceTimersByTime(500)
    idle.add(young)
    vi.advanceTimersByTime(500)
    expect(old.end).toHaveBeenCalledOnce()
    expect(young.end).not.toHaveBeenCalled()
    expect([idle.take(), idle.take()]).toEqual([young, undefined])
  })

  it('ends all at once', () => {
    const idle = createIdleStreams(1_000)
    const streams = [stream(), stream()]
    for (const each of streams) idle.add(each)
    idle.endAll()
    for (const each of streams) expect(each.end).toHaveBeenCalledOnce()
    expect(idle.take()).toBeUndefined()
    expect(vi.getTimerCount()).toBe(0)
  })
})
