import { describe, expect, it } from 'vitest'
import { fairTurns, type TurnOwner } from './fair-turns.ts'

/** A queue of one turn, which is taken until `release`, and the calls that came through in their order. */
function given({ waitingMax }: { waitingMax: number }) {
  const turns = fairTurns({ atOnce: 1, waitingMax, refuse: () => new Error('full') })
  const held = Promise.withResolvers<void>()
  const done: string[] = []
  const first = turns.run({ network: 'first', client: '', account: '' }, () => held.promise)
  const send = (name: string, owner: Partial<TurnOwner>): Promise<string> =>
    turns
      .run({ network: 'n', client: 'c', account: name, ...owner }, async () => void done.push(name))
      .then(
        () => 'done',
        (error: Error) => error.message,
      )
  const release = async (): Promise<void> => {
    held.resolve()
    await first
  }
  return { turns, done, send, release }
}

const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const counts = (outcomes: readonly string[]): Record<string, number> =>
  Object.fromEntries(
    Object.entries(Object.groupBy(outcomes, (each) => each)).map(([key, all]) => [key, all?.length ?? 0]),
  )

describe('fairTurns', () => {
  it('lets one network use an otherwise idle queue', async () => {
    const { send, release } = given({ waitingMax: 8 })
    const sent = many(10, (i) => send(`a${i}`, { network: 'a' }))
    await release()
    expect(counts(await Promise.all(sent))).toEqual({ done: 8, full: 2 })
  })

  it('evicts the newest call of a busy network for one of a quiet network', async () => {
    const { send, release, done } = given({ waitingMax: 8 })
    const flood = many(20, (i) => send(`a${i}`, { network: 'a' }))
    const quiet = [send('b0', { network: 'b' }), send('b1', { network: 'b' })]
    await release()
    expect(await Promise.all(quiet)).toEqual(['done', 'done'])
    expect(counts(await Promise.all(flood))).toEqual({ done: 6, full: 14 })
    expect(done).toEqual(['a0', 'b0', 'a1', 'b1', 'a2', 'a3', 'a4', 'a5'])
  })

  it('delays a network by at most one call of each other network', async () => {
    const { send, release, done } = given({ waitingMax: 100 })
    const sent = ['a', 'b', 'c'].flatMap((network) => many(10, (i) => send(`${network}${i}`, { network })))
    sent.push(send('d0', { network: 'd' }))
    await release()
    await Promise.all(sent)
    expect(done.indexOf('d0')).toBe(3)
  })

  it('is fair among the clients of a network, and among the accounts of a client', async () => {
    const { send, release, done } = given({ waitingMax: 20 })
    const flood = many(30, (i) => send(`a${i}`, { client: 'loud' }))
    const other = send('other client', { client: 'quiet' })
    const own = [send('guess', { account: 'x' }), send('guess', { account: 'x' }), send('right', { account: 'y' })]
    await release()
    expect(await Promise.all([other, ...own])).toEqual(Array(4).fill('done'))
    expect(counts(await Promise.all(flood))).toEqual({ done: 16, full: 14 })
    expect(done.slice(0, 6)).toEqual(['a0', 'other client', 'guess', 'a1', 'right', 'a2'])
  })

  it('gives an account a quarter of the queue over all networks', async () => {
    const { send, release } = given({ waitingMax: 40 })
    const attack = many(30, (i) => send('x', { network: `bot ${i % 5}` }))
    const owner = send('x', { network: 'home' })
    const others = many(30, (i) => send(`other ${i}`, { network: `n${i}` }))
    await release()
    expect(await owner).toBe('done')
    expect(counts(await Promise.all(others))).toEqual({ done: 30 })
    expect(counts(await Promise.all(attack))).toEqual({ done: 9, full: 21 })
  })

  it('rejects if each network has one call, and forgets idle networks', async () => {
    const { turns, send, release } = given({ waitingMax: 4 })
    const sent = many(5, (i) => send(`n${i}`, { network: `n${i}` }))
    expect(turns.counts()).toEqual({ running: 1, waiting: 4 })
    await release()
    expect(counts(await Promise.all(sent))).toEqual({ done: 4, full: 1 })
    expect(turns.counts()).toEqual({ running: 0, waiting: 0 })
    expect(await send('later', {})).toBe('done')
  })

  it('passes the turn on after a failed call', async () => {
    const turns = fairTurns({ atOnce: 1, waitingMax: 4, refuse: () => new Error('full') })
    const owner = { network: 'a', client: 'a', account: 'a' }
    const failing = turns.run(owner, () => Promise.reject(new Error('broken')))
    const next = turns.run(owner, async () => 'done')
    await expect(failing).rejects.toThrow('broken')
    expect(await next).toBe('done')
  })
})
