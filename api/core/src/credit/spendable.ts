import { sql } from 'kysely'

/** Before the lot's expiry or within a grace period. */
export const isUnexpired = sql<boolean>`(expires_at is null or greatest(expires_at, grace_until) > now())`

/** Whether a lot's available credits can be spent: it is unexpired, and its payment is not disputed. */
export const isSpendable = sql<boolean>`(disputed is null and ${isUnexpired})`
