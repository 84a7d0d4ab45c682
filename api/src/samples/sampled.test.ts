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

it('has no value before the first read', () => {
  expect(given().current()).toBeUndefined()
})

it('reads at most once per interval, and accepts a timer that fires slightly early', async () => {
  const { refresh, asked, pass } = given()
  await refresh()
  pass(5_000)
  await refresh()
  expect(asked()).toBe(1)
  pass(4_990)
  await refresh()
  expect(asked()).toBe(2)
})

it('clears the value when a read fails, and reads again at the next interval', async () => {
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

it('drops a value older than three intervals while a read hangs', async () => {
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
