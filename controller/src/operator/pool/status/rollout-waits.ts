import type { PoolStatus } from '../pool-status.ts'
import { type Reason, reasons } from '../reasons.ts'
import type { TritonPool } from '../triton-pool.ts'
import { lacksRoom, type Problem } from './problems.ts'

type WaitInput = {
  readonly pool: TritonPool
  readonly rollout: PoolStatus['rollout']
  readonly target: string
  readonly problems: readonly Problem[]
  readonly now: Date
}

type RolloutPause = { readonly reason: Reason; readonly message: string }

/** Undefined if it does not wait, or waits for room for less than `gate.readySeconds`. */
export function findPause(input: WaitInput): RolloutPause | undefined {
  const { pool, rollout, now } = input
  const { waiting, stable, canary } = rollout
  if (waiting === undefined || canary === undefined) return undefined
  const { readySeconds, minRequests } = pool.spec.rollout.gate
  switch (waiting.for) {
    case 'Room': {
      if (now.getTime() - Date.parse(waiting.since) < readySeconds * 1000) return undefined
      return { reason: 'RolloutNoRoom', message: describeRoom(input) }
    }
    case 'Requests': {
      const what =
        rollout.step < 0
          ? `Revision ${canary} starts with the next requests: the pool is at zero, and ${stable} is its revision`
          : `Step ${rollout.step + 1} of revision ${canary} waits for ${minRequests} requests within an hour`
      return { reason: 'RolloutAwaitsRequests', message: `${what}. ${reasons.RolloutAwaitsRequests.act}` }
    }
    case 'Demand': {
      const what = `Step ${rollout.step + 1} of revision ${canary} pauses, because its requests cannot be read`
      return { reason: 'RolloutAwaitsDemand', message: `${what}. ${reasons.RolloutAwaitsDemand.act}` }
    }
    default:
      return undefined
  }
}

function describeRoom({ rollout, target, problems }: WaitInput): string {
  const { stable, canary, failed, waiting } = rollout
  const isLeaving = canary === failed?.revision || canary !== target
  const awaited = isLeaving ? stable : canary
  const lack = problems.find((one) => one.revision === awaited && lacksRoom(one))
  const why = lack === undefined ? '' : ` (${lack.message.split('. ')[0]})`
  return (
    `Revision ${awaited} has had no room for its next pod since ${waiting?.since}${why}. ` +
    'Free a slot or raise the quota; or set rollout.maxUnavailable to 1 or rollout.strategy to Recreate.'
  )
}

export function describeGap({ unservedSince }: PoolStatus['rollout'], startSeconds: number | undefined) {
  if (unservedSince === undefined) return undefined
  const usual =
    startSeconds === undefined
      ? 'The length of a start has not been measured yet.'
      : `A start usually takes about ${Math.ceil(startSeconds)} s.`
  const since = `No pod has served since ${unservedSince}, because the rollout replaces them.`
  return `${since} ${usual} Requests wait; none is lost.`
}
