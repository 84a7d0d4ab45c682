import { describe, expect, it } from 'vitest'
import { RequestAdmission } from './admission.ts'

class NoSlot extends Error {}
const given = (max = 8) => new RequestAdmission<object>({ requestsInWorkMax: max, uploadsMax: max }, () => new NoSlot())
const settled = (work: Promise<unknown>) => work.catch((error: unknown) => error)

describe('admitted requests', () => {
  it('count for their key first, then for their workspace, even if all slots are taken', () => {
    const all = given(4)
    const requests = ['a', 'b', 'c', 'd'].map((key) => ({ key }))
    for (const request of requests) all.enter(request, request.key)
    expect(() => all.enter({}, 'e')).toThrow(NoSlot)
    const [first = {}, second = {}] = requests
    all.countFor(first, 'workspace')
    expect(all.work.taken).toBe(4)
    expect(() => all.countFor(second, 'workspace')).toThrow(NoSlot)
    expect([all.work.taken, all.has(second)]).toEqual([3, false])
  })

  it('use no slot of work while they wait for a body, and need one afterwards', () => {
    const all = given(4)
    const request = {}
    all.enter(request, 'a')
    all.awaitBody(request, 'bodies', 'address')
    expect([all.work.taken, all.bodies.taken]).toEqual([0, 1])
    all.enter({}, 'a')
    expect(() => all.returnToWork(request)).toThrow(NoSlot)
    all.leave(request)
    expect([all.work.taken, all.bodies.taken]).toEqual([1, 0])
  })

  it('wait for the store until their last read ends, and return to work even if it is full', async () => {
    const all = given(4)
    const request = {}
    all.enter(request, 'a')
    const reads = [Promise.withResolvers<number>(), Promise.withResolvers<number>()]
    const waits = reads.map(({ promise }) => all.awaitStore(request, () => promise))
    expect([all.work.taken, all.store.taken]).toEqual([0, 1])
    reads[0]?.resolve(1)
    expect(await waits[0]).toBe(1)
    expect([all.work.taken, all.store.taken]).toEqual([0, 1])
    for (const holder of ['a', 'b', 'c', 'd']) all.enter({}, holder)
    reads[1]?.reject(new Error('no answer'))
    expect(await settled(waits[1] ?? Promise.resolve())).toMatchObject({ message: 'no answer' })
    expect([all.work.taken, all.store.taken]).toEqual([5, 0])
  })

  it('may not read from the store above the share of their holder', async () => {
    const all = given(4)
    const [first, second] = [{}, {}]
    all.enter(first, 'a')
    const read = Promise.withResolvers<void>()
    const waiting = all.awaitStore(first, () => read.promise)
    all.enter(second, 'a')
    expect(await settled(all.awaitStore(second, () => Promise.reject(new Error('read'))))).toBeInstanceOf(NoSlot)
    read.resolve()
    await waiting
    expect([all.work.taken, all.store.taken]).toEqual([2, 0])
  })

  it('that have left do not return when a read ends', async () => {
    const all = given()
    const request = {}
    all.enter(request, 'a')
    const read = Promise.withResolvers<void>()
    const waiting = all.awaitStore(request, () => read.promise)
    all.leave(request)
    read.resolve()
    await waiting
    expect([all.work.taken, all.store.taken, all.has(request)]).toEqual([0, 0, false])
  })
})
