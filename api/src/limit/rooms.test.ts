import { describe, expect, it } from 'vitest'
import { RequestRooms } from './rooms.ts'

class NoPlace extends Error {}
const rooms = (max = 8) => new RequestRooms<object>(max, () => new NoPlace())
const settled = (work: Promise<unknown>) => work.catch((error: unknown) => error)

describe('requests in rooms', () => {
  it('count for their key first, then for their workspace, also where every place is taken', () => {
    const all = rooms(4)
    const requests = ['a', 'b', 'c', 'd'].map((key) => ({ key }))
    for (const request of requests) all.enter(request, request.key)
    expect(() => all.enter({}, 'e')).toThrow(NoPlace)
    const [first = {}, second = {}] = requests
    all.countFor(first, 'workspace')
    expect(all.work.taken).toBe(4)
    expect(() => all.countFor(second, 'workspace')).toThrow(NoPlace)
    expect([all.work.taken, all.has(second)]).toEqual([3, false])
  })

  it('hold no place in work while they wait for a body, and need one again afterwards', () => {
    const all = rooms(4)
    const request = {}
    all.enter(request, 'a')
    all.awaitBody(request)
    expect([all.work.taken, all.bodies.taken]).toEqual([0, 1])
    all.enter({}, 'a')
    expect(() => all.returnToWork(request)).toThrow(NoPlace)
    all.leave(request)
    expect([all.work.taken, all.bodies.taken]).toEqual([1, 0])
  })

  it('wait for the store as long as one of their looks does, and return though work is full', async () => {
    const all = rooms(4)
    const request = {}
    all.enter(request, 'a')
    const looks = [Promise.withResolvers<number>(), Promise.withResolvers<number>()]
    const waits = looks.map(({ promise }) => all.atStore(request, () => promise))
    expect([all.work.taken, all.store.taken]).toEqual([0, 1])
    looks[0]?.resolve(1)
    expect(await waits[0]).toBe(1)
    expect([all.work.taken, all.store.taken]).toEqual([0, 1])
    for (const holder of ['a', 'b', 'c', 'd']) all.enter({}, holder)
    looks[1]?.reject(new Error('no answer'))
    expect(await settled(waits[1] ?? Promise.resolve())).toMatchObject({ message: 'no answer' })
    expect([all.work.taken, all.store.taken]).toEqual([5, 0])
  })

  it('are refused a look when their share of them is taken, and not looked for', async () => {
    const all = rooms(4)
    const [first, second] = [{}, {}]
    all.enter(first, 'a')
    const look = Promise.withResolvers<void>()
    const waiting = all.atStore(first, () => look.promise)
    all.enter(second, 'a')
    expect(await settled(all.atStore(second, () => Promise.reject(new Error('looked'))))).toBeInstanceOf(NoPlace)
    look.resolve()
    await waiting
    expect([all.work.taken, all.store.taken]).toEqual([2, 0])
  })

  it('that have left stay away, whatever they still wait for', async () => {
    const all = rooms()
    const request = {}
    all.enter(request, 'a')
    const look = Promise.withResolvers<void>()
    const waiting = all.atStore(request, () => look.promise)
    all.leave(request)
    look.resolve()
    await waiting
    expect([all.work.taken, all.store.taken, all.has(request)]).toEqual([0, 0, false])
  })
})
