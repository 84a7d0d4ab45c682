import { describe, expect, it } from 'vitest'
import type { PoolDecision } from './observation.ts'
import { appendHistory, settleHistory } from './scaling-history.ts'

const decide = (replicas: number): PoolDecision => ({
  replicas,
  rule: 'rate',
  sentence: `${replicas} pods.`,
  inputs: { rate: 12.34567, backlog: 0, serviceSeconds: Number.NaN, startSeconds: 6 },
})
const at = (seconds: number): Date => new Date(Date.parse('2026-11-21T08:00:00Z') + seconds * 1000)
const nothing = { ready: 0, replicas: 0, refused: false }

const up = appendHistory([], decide(3), { from: 1, now: at(0) })

describe('appendHistory', () => {
  it('keeps the rounded inputs of the decision, without zeros and NaN', () => {
    expect(up).toEqual([
      {
        time: '2026-11-21T08:00:00Z',
        from: 1,
        to: 3,
        rule: 'rate',
        sentence: '3 pods.',
        inputs: { rate: 12.346 },
        outcome: 'Pending',
      },
    ])
  })

  it('reports a pending decision as superseded by the next one', () => {
    const [before, after] = appendHistory(up, decide(5), { from: 3, now: at(4) })
    expect(before).toMatchObject({ outcome: 'Superseded', outcomeSeconds: 4 })
    expect(after?.outcome).toBe('Pending')
  })

  it('keeps twenty', () => {
    let history = up
    for (let n = 4; n < 40; n++) history = appendHistory(history, decide(n), { from: n - 1, now: at(n) })
    expect(history).toHaveLength(20)
    expect(history.at(-1)?.to).toBe(39)
  })
})

describe('settleHistory', () => {
  it('is reached when the decided number of pods is ready', () => {
    expect(settleHistory(up, { ...nothing, ready: 2, replicas: 3 }, at(5))).toEqual(up)
    const [entry] = settleHistory(up, { ...nothing, ready: 3, replicas: 3 }, at(6))
    expect(entry).toMatchObject({ outcome: 'Reached', outcomeSeconds: 6 })
  })

  it('counts a scale-down as reached when that many pods remain, ready or not', () => {
    const down = appendHistory([], decide(1), { from: 3, now: at(0) })
    expect(settleHistory(down, { ...nothing, ready: 1, replicas: 2 }, at(1))[0]?.outcome).toBe('Pending')
    expect(settleHistory(down, { ...nothing, ready: 0, replicas: 1 }, at(2))[0]?.outcome).toBe('Reached')
  })

  it('reports a refusal by Kubernetes, and a later success', () => {
    const refused = settleHistory(up, { ...nothing, refused: true }, at(2))
    expect(refused[0]).toMatchObject({ outcome: 'Refused', outcomeSeconds: 2 })
    const again = settleHistory(refused, { ...nothing, refused: true }, at(3))
    expect(again).toEqual(refused)
    const reached = settleHistory(refused, { ...nothing, ready: 3, replicas: 3 }, at(60))
    expect(reached[0]).toMatchObject({ outcome: 'Reached', outcomeSeconds: 60 })
  })

  it('keeps a refused decision refused when it is superseded', () => {
    const refused = settleHistory(up, { ...nothing, refused: true }, at(2))
    expect(appendHistory(refused, decide(2), { from: 3, now: at(5) })[0]?.outcome).toBe('Refused')
  })

  it('does not change an outcome', () => {
    const reached = settleHistory(up, { ...nothing, ready: 3, replicas: 3 }, at(6))
    expect(settleHistory(reached, nothing, at(9))).toEqual(reached)
  })
})
