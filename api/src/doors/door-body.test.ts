import { PassThrough } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { readForm } from './door-body.ts'

const mb = 1_048_576

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function given(length: number | undefined) {
  const raw = new PassThrough()
  const headers = {
    'content-type': 'application/json',
    ...(length !== undefined && { 'content-length': String(length) }),
  }
  const closing: string[] = []
  const reply = { header: (name: string, value: string) => void closing.push(`${name}: ${value}`) }
  const exchange = { request: { raw, headers } as unknown as FastifyRequest, reply: reply as unknown as FastifyReply }
  return { raw, closing, form: readForm(exchange, 20 * mb) }
}

describe('a body of a door', () => {
  it('that drips is refused after 10 s and 4 s per announced MiB, and its connection is closed', async () => {
    const { raw, closing, form } = given(5 * mb)
    const refused = expect(form).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    let answered = false
    form.catch(() => {
      answered = true
    })
    raw.write('{')
    await vi.advanceTimersByTimeAsync(29_999)
    expect(answered).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    await refused
    expect(closing).toEqual(['connection: close'])
  })

  it('of unknown length has the time of the largest', async () => {
    const { raw, form } = given(undefined)
    await vi.advanceTimersByTimeAsync(100_000)
    raw.end('{"size":"full"}')
    expect((await form).fields.get('size')).toBe('full')
  })
})
