// `apiRequests` of the usage statistics, counted without a write per request: in memory, and written every second
// and at the stop of the process. What a crash loses is the last second's requests of this process; a connection
// that breaks just while a batch is committed may count that batch twice. Credits and quota are counted elsewhere,
// in the transactions themselves.
import type { Db } from '@matte/core/db/database'
import { loop } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import { addRequests } from '@matte/core/usage/add-requests'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { surfaceOf } from './access.ts'

const everyMs = 1_000
/** Rows of one statement: it locks them until it commits, and creations of these workspaces wait meanwhile. */
const rowsMax = 100
/** While the database is away counts pile up; past so many workspaces (about 10 MB) new ones are not counted. */
const workspacesMax = 100_000

export type RequestCounter = Service & {
  /** A request with a valid key of this workspace was answered, whatever the answer. */
  note(workspaceId: string): void
}

export function requestCounter(db: Db, logger: Logger): RequestCounter {
  let counts = new Map<string, number>()

  const add = (workspaceId: string, requests: number): void => {
    const before = counts.get(workspaceId)
    if (before !== undefined || counts.size < workspacesMax) counts.set(workspaceId, (before ?? 0) + requests)
  }

  async function write(): Promise<Record<string, never>> {
    const batch = [...counts]
    counts = new Map()
    try {
      while (batch.length > 0) {
        await addRequests(db, new Map(batch.slice(0, rowsMax)))
        batch.splice(0, rowsMax)
      }
    } finally {
      for (const [workspaceId, requests] of batch) add(workspaceId, requests)
    }
    return {}
  }

  const inner = loop({ name: 'request-counter', everyMs, run: write, logger })
  return {
    ...inner,
    stop: async () => {
      await inner.stop()
      await write().catch((error: unknown) => logger.warn({ err: error }, 'last requests not counted'))
    },
    note: (workspaceId) => add(workspaceId, 1),
  }
}

/** Counts every request whose key was valid, refused ones included. */
export function countRequests(app: FastifyInstance, counter: Pick<RequestCounter, 'note'>): void {
  app.addHook('onResponse', ({ caller, routeOptions }, _reply, done) => {
    if (caller && surfaceOf(routeOptions.config) === 'developer') counter.note(caller.workspaceId)
    done()
  })
}
