import { describe, expect, it } from 'vitest'
import type { RolloutStatus } from '../pool-status.ts'
import { ago, answerOf, canary, loaded, pod, stable, status } from './status.fixtures.ts'

const since = (seconds: number): string => `${ago(seconds).toISOString().slice(0, 19)}Z`
const full = pod('b', { revision: canary, ready: false, phase: 'Pending', unschedulable: '0/1 nodes: 1 GPU is used' })

describe('a rollout without room', () => {
  const waits = (seconds: number, more: Partial<RolloutStatus> = {}) =>
    status({
      pods: [pod('a'), full],
      rollout: { canary, waiting: { for: 'Room', since: since(seconds) }, ...more },
    })

  it('counts as in progress for gate.readySeconds', () => {
    expect(answerOf('Progressing', waits(599))).toMatchObject({ status: 'True', reason: 'RolloutInProgress' })
  })

  it('is then reported in Progressing and Ready, with two remedies', () => {
    const of = waits(600)
    const { reason, message } = answerOf('Progressing', of)
    expect([answerOf('Progressing', of).status, reason]).toEqual(['False', 'RolloutNoRoom'])
    expect(message).toContain(`Revision ${canary} has had no room for its next pod since ${since(600)}`)
    expect(message).toContain('1 GPU is used')
    expect(message).toContain('Free a slot or raise the quota')
    expect(message).toContain('rollout.maxUnavailable to 1 or rollout.strategy to Recreate')
    expect(answerOf('Ready', of)).toMatchObject({ status: 'True', reason: 'RolloutNoRoom' })
    expect(answerOf('Ready', of).message).toContain(message)
  })

  it('names the old revision in a rollback', () => {
    const old = { ...full, revision: stable }
    const rollout: Partial<RolloutStatus> = { canary, weight: 50, waiting: { for: 'Room', since: since(600) } }
    const of = status({ target: stable, pods: [pod('a', { revision: canary }), old], rollout })
    expect(answerOf('Progressing', of).message).toContain(`Revision ${stable} has had no room`)
  })
})

describe('a canary that pauses', () => {
  it.each([
    ['Requests', 0, 'RolloutAwaitsRequests', 'waits for 50 requests', 'rollout.gate.idle to promote'],
    ['Requests', -1, 'RolloutAwaitsRequests', 'the pool is at zero', 'rollout.gate.idle to promote'],
    ['Demand', 0, 'RolloutAwaitsDemand', 'cannot be read', 'Restore the database'],
  ] as const)('reports what it waits for, and the remedies: %s in step %d', (what, step, reason, words, way) => {
    const rollout = { canary, step, weight: 10, waiting: { for: what, since: since(1) } }
    const { message, ...answer } = answerOf('Progressing', status({ models: [loaded(), loaded(canary)], rollout }))
    expect(answer).toEqual({ status: 'False', reason })
    expect(message).toContain(words)
    expect(message).toContain(way)
  })
})

describe('a pool whose only pod has made room', () => {
  const starting = pod('b', { revision: canary, ready: false, phase: 'Pending' })
  const gap = { canary, unservedSince: since(30) }

  it('reports since when it has no pod, and the duration of a start', () => {
    const { message, ...answer } = answerOf('Ready', status({ pods: [starting], rollout: gap }))
    expect(answer).toEqual({ status: 'False', reason: 'Starting' })
    expect(message).toBe(
      `No pod has served since ${since(30)}, because the rollout replaces them. A start usually takes about 7 s. ` +
        'Requests wait; none is lost.',
    )
    const unmeasured = status({ pods: [starting], rollout: gap, startSeconds: undefined })
    expect(answerOf('Ready', unmeasured).message).toContain('has not been measured yet')
  })

  it('also reports what keeps the new pod from starting', () => {
    const of = status({ pods: [{ ...starting, waiting: { reason: 'ErrImagePull', message: 'gone' } }], rollout: gap })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'False', reason: 'ImagePullFailed' })
    expect(answerOf('Ready', of).message).toContain('No pod has served since')
  })
})
