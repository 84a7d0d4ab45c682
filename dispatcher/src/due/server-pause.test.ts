import { expect, it } from 'vitest'
import { serverPause } from './server-pause.ts'

function given() {
  let nowMs = 0
  const pause = serverPause({ monotonicMs: () => nowMs })
  const pass = (ms: number): void => {
    nowMs += ms
  }
  return { ...pause, pass }
}

it('allows every free slot while the server is available', () => {
  const { allows, reached } = given()
  expect(allows(4, 4)).toBe(4)
  expect(reached(true)).toBe(0)
  expect(allows(3, 4)).toBe(3)
})

it('allows none during a pause, then one; pauses double up to a minute', () => {
  const { allows, reached, pass } = given()
  for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
    expect(reached(false)).toBe(seconds * 1_000)
    expect(allows(4, 4)).toBe(0)
    pass(seconds * 1_000)
    expect(allows(4, 4)).toBe(1)
    expect(allows(3, 4)).toBe(0) // the one attempt is in flight
  }
  reached(true)
  expect(allows(4, 4)).toBe(4)
  expect(reached(false)).toBe(1_000)
})

it('counts concurrent failures once', () => {
  const { reached } = given()
  expect([reached(false), reached(false), reached(false)]).toEqual([1_000, 0, 0])
})
