import { type SweepPass, sweepParts } from '@matte/core/db/sweep'
import { type Loop, loop } from '@matte/core/runtime/loop'
import type { Logger } from 'pino'

type DueParts = {
  readonly name: string
  readonly everyMs: number
  /** Each runs one bounded pass and returns how many items it handled. */
  readonly parts: Readonly<Record<string, (pass: SweepPass) => Promise<number>>>
  /** Called when items were handled: deliveries may be due. */
  readonly wake: () => void
  readonly logger: Logger
  /** A pass starts no new item after this time. */
  readonly passMs?: number
}

/** A loop over several kinds of due work. A failure is logged and does not stop the other kinds. */
export const dueParts = ({ name, everyMs, parts, wake, logger, passMs }: DueParts): Loop =>
  loop({
    name,
    everyMs,
    run: async (stopped) => {
      const signal = passMs === undefined ? stopped : AbortSignal.any([stopped, AbortSignal.timeout(passMs)])
      const { counts, failures } = await sweepParts(parts, { signal })
      for (const { part, error, rows } of failures) logger.error({ part, err: error, rows }, 'due work failed')
      if (Object.values(counts).some((count) => count > 0)) wake()
      return counts
    },
    logger,
  })
