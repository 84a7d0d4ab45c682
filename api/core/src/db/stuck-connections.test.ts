import { afterEach, describe, expect, it } from 'vitest'
import { type StuckConnections, stuckConnections } from './stuck-connections.ts'

let watching: StuckConnections | undefined
afterEach(() => watching?.close())

function given(findWorking: (pids: readonly number[]) => Promise<ReadonlySet<number> | undefined>) {
  let nowMs = 0
  const asked: (readonly number[])[] = []
  const dropped: number[] = []
  const stuck = stuckConnections({
    clock: { monotonicMs: () => nowMs },
    findWorking: (pids) => {
      asked.push(pids)
      return findWorking(pids)
    },
  })
  watching = stuck
  return {
    stuck,
    asked,
    dropped,
    send: (pid: number) => stuck.watch({ pid, drop: () => void dropped.push(pid) }),
    pass: async (ms: number) => {
      nowMs += ms
      await stuck.check()
    },
  }
}

describe('stuckConnections', () => {
  it('closes a connection unknown to the server at the second miss, and marks connections of its age stale', async () => {
    const { stuck, send, pass, asked, dropped } = given(async () => new Set([2]))
    for (const pid of [1, 2]) send(pid)
    await pass(1_900)
    expect(asked).toEqual([])
    await pass(200)
    expect([asked, dropped, stuck.isStale(0)]).toEqual([[[1, 2]], [], false])
    await pass(1_000)
    expect([dropped, stuck.isStale(0), stuck.isStale(3_100)]).toEqual([[1], true, false])
  })

  it('marks older connections stale on leaving a server, unless the new ones lead to the same', async () => {
    const { stuck, pass } = given(async () => new Set())
    await pass(5_000)
    stuck.leaveServer(4_500)
    expect(stuck.isStale(0)).toBe(false)
    stuck.leaveServer(0)
    expect([stuck.isStale(4_999), stuck.isStale(5_000)]).toEqual([true, false])
  })

  it('keeps a connection that got its response meanwhile', async () => {
    const misses: (() => void)[] = []
    const { send, pass, dropped } = given(async () => {
      for (const answered of misses) answered()
      return new Set()
    })
    const answered = send(1)
    await pass(2_100)
    misses.push(answered)
    await pass(1_000)
    expect(dropped).toEqual([])
  })

  it('keeps all connections if the server process is unknown, as behind a pooler', async () => {
    const { send, pass, dropped } = given(async () => undefined)
    send(1)
    for (let times = 0; times < 5; times++) await pass(3_000)
    expect(dropped).toEqual([])
  })
})
