// Paths for programs that were written for other background removers (docs/doors.md). Each is off unless its setting
// turns it on; a path that is off is unknown.
import type { FastifyPluginAsync } from 'fastify'
import type { Config } from '../config.ts'
import type { RateLimiter } from '../limit/rate-limiter.ts'
import type { SlotPoll } from '../long-poll.ts'
import type { DoorDeps } from './cut-out.ts'
import { rembgRoutes } from './rembg/routes.ts'
import { removebgRoutes } from './removebg/routes.ts'
import { createTurns } from './turns.ts'

type DoorRoutesDeps = Omit<DoorDeps, 'turns'> & {
  readonly slotPoll: Pick<SlotPoll, 'wait'>
  readonly limiter: RateLimiter
  readonly config: Pick<
    Config,
    'doorsRemovebg' | 'doorsRemovebgModels' | 'doorsRemovebgUnknownForeground' | 'doorsRembg' | 'doorsRembgModels'
  >
}

export const doorRoutes: FastifyPluginAsync<DoorRoutesDeps> = async (app, { config, slotPoll, ...deps }) => {
  const doorDeps = { ...deps, turns: createTurns(slotPoll) }
  if (config.doorsRemovebg) {
    const { doorsRemovebgModels: table, doorsRemovebgUnknownForeground: subjectsOnly } = config
    await app.register(removebgRoutes, { ...doorDeps, table, subjectsOnly, prefix: '/v1.0' })
  }
  if (config.doorsRembg) await app.register(rembgRoutes, { ...doorDeps, table: config.doorsRembgModels })
}
