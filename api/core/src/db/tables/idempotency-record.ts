import type { Generated } from 'kysely'

/** One request under an `Idempotency-Key` that was answered 2xx; remembered for 24 h (D42). */
type RememberedRequestTable = {
  method: string
  path: string
  key: string
  /** SHA-256 of the canonical body. */
  body_hash: Buffer
  /** What was made; null only inside the creating transaction. */
  resource_id: string | null
  status: number | null
  created_at: Generated<Date>
}

export type IdempotencyRecordTable = RememberedRequestTable & { workspace_id: string }

/** Of operations about a person, whatever workspace the token is for. */
export type PersonalIdempotencyRecordTable = RememberedRequestTable & { user_id: string }
