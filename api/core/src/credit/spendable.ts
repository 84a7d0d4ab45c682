import { sql } from 'kysely'

/** Whether a lot's available credits can be spent: before its expiry or within a grace period. */
export const isSpendable = sql<boolean>`(expires_at is null or greatest(expires_at, grace_until) > now())`
