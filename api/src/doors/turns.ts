// Turns of the doors: a request above the concurrency of its plan waits, because clients of these protocols do not
// repeat it after 429. Each workspace has one queue in the order of arrival. Its first request tries again when a slot
// frees up. A waiting request holds its stored image and a socket, and neither memory for a body nor a database
// connection.
import { MatteError } from '@matte/core/error'
import { SlotPool } from '@matte/core/runtime/concurrency/slot-pool'
import { settledOrAborted } from '@matte/core/runtime/race'
import { type Deferred, deferred, pause } from '@matte/core/runtime/service'
import { concurrencyReached } from '@matte/core/workspace/limit/single-slot'
import type { FastifyRequest } from 'fastify'
import { capacityExceeded } from '../errors/error-handler.ts'
import type { SlotPoll } from '../long-poll.ts'

/** Waiting requests of a process, a quarter per workspace. */
const waitingMax = 1_000

/** Pause after a slot that was free and could not be taken: it was lost to another request, or the plan has changed. */
const againAfterMs = 100

type Turn<T> = {
  /** Creates the task; TASK_CONCURRENT_LIMIT means to wait. */
  readonly create: () => Promise<T>
  readonly waitMs: number
  /** Aborts after `waitMs`, and when the client disconnects. */
  readonly over: AbortSignal
}

export type Turns = {
  /**
   * The created task. Releases the request's slot if it has to wait.
   * @throws MatteError as `create`, TASK_CONCURRENT_LIMIT once `over` aborts, RATE_LIMIT_EXCEEDED when too many wait
   */
  take<T>(request: FastifyRequest, turn: Turn<T>): Promise<T>
}

export function createTurns(slotPoll: Pick<SlotPoll, 'wait'>, max = waitingMax): Turns {
  /** First the request whose turn it is. */
  const queues = new Map<string, Deferred<void>[]>()
  const waiting = new SlotPool(max)

  async function take<T>(request: FastifyRequest, turn: Turn<T>): Promise<T> {
    const { workspaceId } = request.caller
    if (!queues.has(workspaceId)) {
      const created = await unlessFull(turn.create)
      if (created !== full) return created
    }
    if (!waiting.hasSlot(workspaceId)) throw capacityExceeded()
    request.releaseSlot()
    waiting.enter(workspaceId)
    try {
      return await queue(request, turn)
    } finally {
      waiting.leave(workspaceId)
    }
  }

  async function queue<T>(request: FastifyRequest, turn: Turn<T>): Promise<T> {
    const { workspaceId } = request.caller
    const line = queues.get(workspaceId) ?? []
    queues.set(workspaceId, line)
    const own = deferred<void>()
    line.push(own)
    line[0]?.resolve()
    try {
      await settledOrAborted(own.promise, turn.over)
      return await tryUntilOver(request, turn)
    } finally {
      line.splice(line.indexOf(own), 1)
      line[0]?.resolve()
      if (line.length === 0) queues.delete(workspaceId)
    }
  }

  async function tryUntilOver<T>({ caller, holders }: FastifyRequest, { create, waitMs, over }: Turn<T>): Promise<T> {
    while (!over.aborted) {
      const freed = await slotPoll.wait(caller.workspaceId, { waitMs, signal: over, holders })
      if (freed === null) throw capacityExceeded()
      if (freed === undefined) break // also when the process stops
      const created = await unlessFull(create)
      if (created !== full) return created
      await pause(againAfterMs, over)
    }
    throw concurrencyReached(caller.planLimits)
  }

  return { take }
}

const full = Symbol('full')

async function unlessFull<T>(create: () => Promise<T>): Promise<T | typeof full> {
  try {
    return await create()
  } catch (error) {
    if (error instanceof MatteError && error.code === 'TASK_CONCURRENT_LIMIT') return full
    throw error
  }
}
