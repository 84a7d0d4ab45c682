import type { ColumnType, Generated } from 'kysely'

/** A key that signs access tokens (D14). Published from its creation, in use from `active_at` to `retired_at`. */
export type SigningKeyTable = {
  /** `kid` of the tokens. */
  kid: string
  public_jwk: ColumnType<Readonly<Record<string, unknown>>, string, never>
  /** The private JWK, sealed under the master keys. */
  private_sealed: string
  created_at: Generated<Date>
  active_at: Date | null
  retired_at: Date | null
}
