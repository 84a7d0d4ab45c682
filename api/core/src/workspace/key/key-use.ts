// Last use of API keys, and the addresses that used them last.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { SweepPass } from '../../db/sweep.ts'

/** Addresses shown of a key: enough to see a stranger beside one's own servers. */
export const addressesMax = 5

/** Days until an address without a further use is deleted. */
const keptDays = 90

/** Addresses by key; a key without a readable address has none. */
export type KeyUses = ReadonlyMap<string, readonly string[]>

/**
 * Sets the time of last use to now, and adds the addresses. A revoked key gets no address, because the erasure of its
 * creator has removed them.
 */
export async function noteKeyUses(db: Db, uses: KeyUses): Promise<void> {
  const rows = [...uses].flatMap(([id, addresses]) => (addresses.length > 0 ? addresses : [null]).map((a) => [id, a]))
  await sql`
    with used as (
      select id, array_agg(address) filter (where address is not null) as addresses
        from unnest(${rows.map(([id]) => id)}::uuid[], ${rows.map(([, address]) => address)}::text[]) as u (id, address)
       group by id
    )
    update api_key k
       set last_used_at = greatest(k.last_used_at, now()),
           (recent_addresses, addresses_since) = (
             select coalesce(jsonb_agg(to_jsonb(a) order by a.at desc, a.address), k.recent_addresses),
                    coalesce(min(a.at at time zone 'UTC')::date, k.addresses_since)
               from (select address, max(at) as at
                       from (select address, at
                               from jsonb_to_recordset(k.recent_addresses) as e (address text, at timestamptz)
                             union all
                             select address, now() from unnest(used.addresses) as n (address)) seen
                      where k.revoked_at is null and at > now() - ${keptDays}::int * interval '1 day'
                      group by address order by 2 desc, 1 limit ${addressesMax}) a)
      from used where k.id = used.id`.execute(db)
}

/** Deletes addresses of old uses; returns the number of keys that had some. */
export async function deleteOldAddresses(db: Db, { now, limit = 1_000 }: SweepPass = {}): Promise<number> {
  const before = sql`(coalesce(${now ?? null}::timestamptz, now()) - ${keptDays}::int * interval '1 day')`
  const { numAffectedRows = 0n } = await sql`
    update api_key k
       set (recent_addresses, addresses_since) = (
             select jsonb_agg(to_jsonb(a) order by a.at desc, a.address), min(a.at at time zone 'UTC')::date
               from jsonb_to_recordset(k.recent_addresses) as a (address text, at timestamptz)
              where a.at > ${before})
     where id in (
       select id from api_key where addresses_since < (${before} at time zone 'UTC')::date
        order by addresses_since limit ${limit} for update skip locked)`.execute(db)
  return Number(numAffectedRows)
}
