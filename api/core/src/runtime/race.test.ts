import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { orAborted, settledOrAborted, settledWithin } from './race.ts'

const never = new Promise<never>(() => undefined)
const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length

function aborted(reason: Error): AbortSignal {
  const controller = new AbortController()
  controller.abort(reason)
  return controller.signal
}

describe('orAborted', () => {
  it('settles like the promise, and leaves no listener', async () => {
    const { signal } = new AbortController()
    expect(await orAborted(Promise.resolve(7), signal)).toBe(7)
    await expect(orAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no')
    expect(listeners(signal)).toBe(0)
  })

  it('rejects with the reason of an aborted signal', async () => {
    const reason = new Error('stop')
    await expect(orAborted(never, aborted(reason))).rejects.toBe(reason)
    const controller = new AbortController()
    const raced = orAborted(never, controller.signal)
    controller.abort(reason)
    await expect(raced).rejects.toBe(reason)
    expect(listeners(controller.signal)).toBe(0)
  })

  it('ignores a later rejection of the promise', async () => {
    const work = Promise.withResolvers<void>()
    const raced = orAborted(work.promise, aborted(new Error('stop')))
    work.reject(new Error('too late')) // an unhandled rejection would fail this run
    await expect(raced).rejects.toThrow('stop')
  })
})

describe('settledOrAborted', () => {
  it('resolves with the promise, or with the abort', async () => {
    const { signal } = new AbortController()
    await settledOrAborted(Promise.resolve(), signal)
    expect(listeners(signal)).toBe(0)
    await settledOrAborted(never, aborted(new Error('stop')))
  })

  it('rejects with the promise', async () => {
    await expect(settledOrAborted(Promise.reject(new Error('no')), new AbortController().signal)).rejects.toThrow('no')
  })
})

describe('settledWithin', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('resolves with the promise, and leaves no timer', async () => {
    await settledWithin(Promise.resolve(), 60_000)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('resolves when the time has passed', async () => {
    const settled = vi.fn()
    void settledWithin(never, 1_000).then(settled)
    await vi.advanceTimersByTimeAsync(999)
    expect(settled).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(settled).toHaveBeenCalledOnce()
  })

  it('rejects with the promise, and leaves no timer', async () => {
    await expect(settledWithin(Promise.reject(new Error('no')), 60_000)).rejects.toThrow('no')
    expect(vi.getTimerCount()).toBe(0)
  })
})
