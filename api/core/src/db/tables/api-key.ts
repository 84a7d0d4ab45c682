import type { Generated } from 'kysely'

export type ApiKeyTable = {
  id: Generated<string>
  workspace_id: string
  name: string
  /** SHA-256 of the whole key; the key itself is shown once and kept nowhere (D11). */
  hash: Buffer
  prefix: string
  last_four: string
  scopes: string[]
  created_at: Generated<Date>
  expires_at: Date | null
  last_used_at: Date | null
  revoked_at: Date | null
  /** The member who made it; null: an operator. */
  created_by: Generated<string | null>
  /** The key that took its place when it was rolled. */
  successor_id: Generated<string | null>
}
