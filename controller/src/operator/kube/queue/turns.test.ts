import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createTurns } from './turns.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})
const tick = (ms = 0) => vi.advanceTimersByTimeAsync(ms)

function given() {
  const onRoom = vi.fn()
  const turns = createTurns(2, onRoom)
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

it('has room for so many at once, and again when one ends', async () => {
  const { turns, begin, onRoom } = given()
  const end = begin()
  expect(turns.hasRoom()).toBe(true)
  begin()
  expect(turns.hasRoom()).toBe(false)
  await end()
  expect(turns.hasRoom()).toBe(true)
  expect(onRoom).toHaveBeenCalledTimes(1)
})

it('gives the room of work that takes longer than 5 s to other work, once', async () => {
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

it('has ended when the slow have ended too', async () => {
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
