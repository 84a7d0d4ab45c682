import type { Db } from '@matte/core/db/database'
import { renewClaim } from '@matte/core/task/run/claim-task'
import type { Claim } from '@matte/core/task/task'
import type { Logger } from 'pino'

/**
 * Renews a claim at a third of its life. When renewing fails for a whole life (by this process's monotonic clock,
 * which also runs while the process is stopped), the claim counts as `lost`: another worker may have it by now.
 * `release` ends the renewing; call it on every way out.
 */
export function keepClaim(db: Db, claim: Claim, claimMs: number, logger: Logger) {
  const lost = new AbortController()
  let aliveUntil = performance.now() + claimMs
  let renewing = false

  async function renew(): Promise<void> {
    const askedAt = performance.now()
    try {
      if (await renewClaim(db, claim, claimMs)) aliveUntil = askedAt + claimMs
      else lost.abort()
    } catch (error) {
      logger.warn({ err: error }, 'claim not renewed')
    }
  }

  const timer = setInterval(() => {
    if (performance.now() >= aliveUntil) lost.abort()
    if (renewing || lost.signal.aborted) return
    renewing = true
    void renew().finally(() => {
      renewing = false
    })
  }, claimMs / 3)

  return { lost: lost.signal, release: () => clearInterval(timer) }
}
