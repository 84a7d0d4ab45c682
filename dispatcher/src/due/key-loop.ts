import type { Db } from '@matte/core/db/database'
import type { Loop } from '@matte/core/runtime/loop'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { announceKeyExpiry } from '@matte/people/notification/key-notices'
import type { Logger } from 'pino'
import { dueParts } from './due-parts.ts'

type KeyLoopDeps = { readonly db: Db; readonly masterKeys: MasterKeys; readonly logger: Logger }

/** A notice comes a week before the expiry, so a minute does not matter. */
const everyMs = 60_000

export const keyLoop = ({ db, masterKeys, logger }: KeyLoopDeps): Loop =>
  dueParts({
    name: 'keys',
    everyMs,
    parts: { key_expiry: (pass) => announceKeyExpiry(db, masterKeys, pass) },
    wake: () => undefined,
    logger,
  })
