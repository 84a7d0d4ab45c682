// Paths for programs that were written for other background removers (docs/doors.md). Each is off unless its setting
// turns it on; a path that is off is unknown.
import type { FastifyPluginAsync } from 'fastify'
import type { Config } from '../config.ts'
import { byteBudget } from './byte-budget.ts'
import type { DoorDeps } from './cut-out.ts'
import { rembgRoutes } from './rembg/routes.ts'
import { removebgRoutes } from './removebg/routes.ts'

type DoorRoutesDeps = Omit<DoorDeps, 'budget' | 'imageBytesMax'> & {
  readonly config: Pick<
    Config,
    'doorsRemovebg' | 'doorsRemovebgUnknownForeground' | 'doorsRembg' | 'doorsRembgModels' | 'plans'
  >
}

export const doorRoutes: FastifyPluginAsync<DoorRoutesDeps> = async (app, { config, ...deps }) => {
  const imageBytesMax = Math.max(...Object.values(config.plans).map(({ maxFileSizeBytes }) => maxFileSizeBytes))
  const doorDeps = { ...deps, budget: byteBudget(), imageBytesMax }
  if (config.doorsRemovebg) {
    await app.register(removebgRoutes, { ...doorDeps, subjectsOnly: config.doorsRemovebgUnknownForeground })
  }
  if (config.doorsRembg) await app.register(rembgRoutes, { ...doorDeps, table: config.doorsRembgModels })
}
