// Counts `apiRequests` of the usage statistics in memory and writes them every second and at stop. A crash loses the
// last second; a connection lost during the commit may count a batch twice.
import type { Db } from '@matte/core/db/database'
import { loop } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import { addRequests } from '@matte/core/usage/add-requests'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { surfaceOf } from './access.ts'

const everyMs = 1_000
/** Rows per statement, which locks them and delays task creation in these workspaces. */
const rowsMax = 100
/** Workspaces kept while the database is unavailable, about 10 MB. */
const workspacesMax = 100_000

export type RequestCounter = Service & {
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

export function countRequests(app: FastifyInstance, counter: Pick<RequestCounter, 'note'>): void {
  app.addHook('onResponse', ({ caller, routeOptions }, _reply, done) => {
    if (caller && surfaceOf(routeOptions.config) === 'developer') counter.note(caller.workspaceId)
    done()
  })
}
