import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { bodyDeadlineMs, doorDeadlineMs, withDeadline } from './body-deadline.ts'

describe('bodyDeadlineMs', () => {
  it.each([
    ['0', 10_000],
    ['524288', 15_000],
    ['1048576', 20_000],
    [undefined, 20_000],
  ])('for length %s is %i ms', (length, expected) => {
    expect(bodyDeadlineMs(length)).toBe(expected)
  })
})

it('a body of a door has 10 s and 4 s per MiB', () => {
  expect(doorDeadlineMs(0)).toBe(10_000)
  expect(doorDeadlineMs(20 * 1_048_576)).toBe(90_000)
})

describe('a body with a deadline', () => {
  const late = (): Error => new Error('late')

  it('passes if it arrives in time', async () => {
    const payload = new PassThrough()
    const body = withDeadline({ afterMs: 60_000, late }, payload)
    payload.write('one ')
    payload.end('two')
    expect(await text(body)).toBe('one two')
  })

  it('fails if it is late, and leaves the connection open for the response', async () => {
    const payload = new PassThrough()
    const body = withDeadline({ afterMs: 1, late }, payload)
    payload.write('one ')
    await expect(text(body)).rejects.toThrow('late')
    expect(payload.destroyed).toBe(false)
  })

  it('fails with its connection', async () => {
    const payload = new PassThrough()
    const body = text(withDeadline({ afterMs: 60_000, late }, payload))
    payload.destroy(new Error('aborted'))
    await expect(body).rejects.toThrow('aborted')
  })
})
