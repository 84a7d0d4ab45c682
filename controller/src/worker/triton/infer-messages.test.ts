import { describe, expect, it } from 'vitest'
import { buildRequest, type InferInput, readMask, readMessage } from './infer-messages.ts'
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
  it('names the model and carries the bytes of the image as they are', () => {
    const request = buildRequest(input)
    expect(request).toMatchObject({ model_name: 'u2netp', id: 'task/1/claim', inputs: [{ shape: [1, 2, 2, 3] }] })
    expect(request.raw_input_contents[0]).toBe(input.image)
  })
})

describe('readMessage', () => {
  it('is the answer, the error, or nothing', () => {
    const good = answer(input.id, 1)
    expect(readMessage({ infer_response: good })).toBe(good)
    expect(readMessage({ error_message: 'no', infer_response: good })).toBeInstanceOf(InferenceError)
    expect(readMessage({ error_message: '', infer_response: null })).toBeUndefined()
  })
})

describe('readMask', () => {
  it('is the one output of a request', () => {
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
