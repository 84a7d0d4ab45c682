import { sql } from 'kysely'

/** Whether a lot's available credits may be spent: before its expiry, or in the grace time after a late release. */
export const isSpendable = sql<boolean>`(expires_at is null or greatest(expires_at, grace_until) > now())`
