import { type SweepPass, sweepParts } from '@matte/core/db/sweep'
import { type Loop, loop } from '@matte/core/runtime/loop'
import type { Logger } from 'pino'

type DueParts = {
  readonly name: string
  readonly everyMs: number
  /** One round each, of bounded size; it returns how much it did. */
  readonly parts: Readonly<Record<string, (pass: SweepPass) => Promise<number>>>
  /** Something was done, of which deliveries may be due. */
  readonly wake: () => void
  readonly logger: Logger
  /** The pass begins nothing more after so long. */
  readonly passMs?: number
}

/** A loop over what falls due: what fails of it is logged and stops nothing else. */
export const dueParts = ({ name, everyMs, parts, wake, logger, passMs }: DueParts): Loop =>
  loop({
    name,
    everyMs,
    run: async (stopped) => {
      const signal = passMs === undefined ? stopped : AbortSignal.any([stopped, AbortSignal.timeout(passMs)])
      const { counts, failures } = await sweepParts(parts, { signal })
      for (const { part, error, rows } of failures) logger.error({ part, err: error, rows }, 'not done, though due')
      if (Object.values(counts).some((count) => count > 0)) wake()
      return counts
    },
    logger,
  })
