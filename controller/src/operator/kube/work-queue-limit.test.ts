import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createConcurrencyLimit } from './work-queue.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})
const tick = (ms = 0) => vi.advanceTimersByTimeAsync(ms)

function given() {
  const onRoom = vi.fn()
  const turns = createConcurrencyLimit(2, onRoom)
  const begin = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    turns.run(() => promise)
    return async () => {
      resolve()
      await tick()
    }
  }
  return { turns, begin, onRoom }
}

it('starts at most the limit, and the next one when one ends', async () => {
  const { turns, begin, onRoom } = given()
  const end = begin()
  expect(turns.hasRoom()).toBe(true)
  begin()
  expect(turns.hasRoom()).toBe(false)
  await end()
  expect(turns.hasRoom()).toBe(true)
  expect(onRoom).toHaveBeenCalledTimes(1)
})

it('frees the slot of work that takes longer than 5 s, once', async () => {
  const { turns, begin, onRoom } = given()
  const ends = [begin(), begin()]
  await tick(4_999)
  expect(turns.hasRoom()).toBe(false)
  await tick(1)
  expect(turns.hasRoom()).toBe(true)
  expect(onRoom).toHaveBeenCalledTimes(2)
  begin()
  begin()
  expect(turns.hasRoom()).toBe(false)
  for (const end of ends) await end()
  expect(turns.hasRoom()).toBe(false)
})

it('stops after slow work has ended too', async () => {
  const { turns, begin } = given()
  const end = begin()
  await tick(5_000)
  const ended = vi.fn()
  void turns.ended().then(ended)
  await tick(60_000)
  expect(ended).not.toHaveBeenCalled()
  await end()
  expect(ended).toHaveBeenCalled()
})
