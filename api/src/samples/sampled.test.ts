import { expect, it } from 'vitest'
import { sampled } from './sampled.ts'

function given() {
  let nowMs = 0
  let answer: () => Promise<number> = async () => 1
  let asked = 0
  const clock = { monotonicMs: () => nowMs }
  const read = (): Promise<number> => {
    asked += 1
    return answer()
  }
  return {
    ...sampled({ everyMs: 10_000, clock, read }),
    asked: () => asked,
    answerWith: (next: () => Promise<number>) => {
      answer = next
    },
    pass: (ms: number) => {
      nowMs += ms
    },
  }
}

it('knows nothing before the first reading', () => {
  expect(given().current()).toBeUndefined()
})

it('reads no more often than it is told, and takes a timer that is a little early', async () => {
  const { refresh, asked, pass } = given()
  await refresh()
  pass(5_000)
  await refresh()
  expect(asked()).toBe(1)
  pass(4_990)
  await refresh()
  expect(asked()).toBe(2)
})

it('forgets what it knows when a reading fails, and reads again when the next is due, not before', async () => {
  const { refresh, current, answerWith, pass, asked } = given()
  await refresh()
  expect(current()).toBe(1)
  answerWith(() => Promise.reject(new Error('away')))
  pass(10_000)
  await expect(refresh()).rejects.toThrow('away')
  expect(current()).toBeUndefined()
  answerWith(async () => 2)
  await refresh()
  expect([current(), asked()]).toEqual([undefined, 2])
  pass(10_000)
  await refresh()
  expect([current(), asked()]).toEqual([2, 3])
})

it('shows nothing that is older than three intervals, while a reading hangs', async () => {
  const { refresh, current, answerWith, pass } = given()
  await refresh()
  answerWith(() => Promise.withResolvers<number>().promise)
  pass(10_000)
  void refresh()
  pass(20_000)
  expect(current()).toBe(1)
  pass(1)
  expect(current()).toBeUndefined()
})
