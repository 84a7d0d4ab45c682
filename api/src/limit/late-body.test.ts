import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { bodyDeadlineMs, expectWithin } from './late-body.ts'

describe('the time that a body has', () => {
  it.each([
    ['0', 10_000],
    ['524288', 15_000],
    ['1048576', 20_000],
    [undefined, 20_000],
  ])('of length %s is %i ms', (length, expected) => {
    expect(bodyDeadlineMs(length)).toBe(expected)
  })
})

describe('a body that is expected', () => {
  const late = (): Error => new Error('late')

  it('passes when it comes in time', async () => {
    const payload = new PassThrough()
    const body = expectWithin({ afterMs: 60_000, late }, payload)
    payload.write('one ')
    payload.end('two')
    expect(await text(body)).toBe('one two')
  })

  it('fails when it does not, and leaves the connection for the answer', async () => {
    const payload = new PassThrough()
    const body = expectWithin({ afterMs: 1, late }, payload)
    payload.write('one ')
    await expect(text(body)).rejects.toThrow('late')
    expect(payload.destroyed).toBe(false)
  })

  it('fails with its connection', async () => {
    const payload = new PassThrough()
    const body = text(expectWithin({ afterMs: 60_000, late }, payload))
    payload.destroy(new Error('aborted'))
    await expect(body).rejects.toThrow('aborted')
  })
})
