// What requests of several kinds are checked for beyond their schemas.
import { MatteError } from '@matte/core/error'
import type { Issue } from '@matte/core/invalid-params'
import type { Inspected } from '@matte/core/upload/inspect-object'
import { checkTargetUrl, type TargetPolicy } from '@matte/core/webhook/target/target-url'
import type { FastifyRequest } from 'fastify'
import type { ModelCache } from '../../model-cache.ts'

export const inMaintenance = (): MatteError =>
  new MatteError('TASK_MAINTENANCE', 'New tasks are paused for maintenance; try again later.')

/** The store as this request inspects an object in it: while it waits there it holds no place in work. */
export const storeOf = (request: FastifyRequest, store: Inspected): Inspected => ({
  head: (key, firstBytes) => request.atStore(() => store.head(key, firstBytes)),
})

export async function judgeModel(modelVersion: string, models: ModelCache): Promise<Issue | undefined> {
  const valid = await models.validNames()
  if (valid.includes(modelVersion)) return undefined
  return { path: '/body/modelVersion', message: `must be one of ${valid.join(', ')}` }
}

/** A webhook's target, at `path` in the request: what is wrong with it, or undefined. */
export async function judgeTarget(path: string, url: string, policy: TargetPolicy): Promise<Issue | undefined> {
  // The parser would drop or encode these; the text is kept and answered as it came, so it has to be a URL as it is.
  if (/[\p{Cc}\s]/u.test(url)) return { path, message: 'must not hold spaces or control characters' }
  const verdict = await checkTargetUrl(url, policy)
  return 'refusal' in verdict ? { path, message: verdict.refusal } : undefined
}
