// Rows of images that the dispatcher fetches. The API inserts and reads them, the dispatcher claims and ends them.
// Another dispatcher takes over an expired claim until the row expires, because the caller waits until then.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { FetchFailure } from '../../db/tables/task.ts'

type NewFetch = {
  readonly workspaceId: string
  readonly objectKey: string
  readonly url: string
  readonly uploadUrl: string
  readonly maxBytes: number
  readonly expiresInSeconds: number
  /** Open fetches of the workspace, including this one. */
  readonly openMax: number
}

/** Undefined: the workspace has too many open fetches. Concurrent inserts can exceed the bound by their number. */
export async function insertFetch(db: Db, fetch: NewFetch): Promise<string | undefined> {
  const { workspaceId, objectKey, url, uploadUrl, maxBytes, expiresInSeconds, openMax } = fetch
  const { rows } = await sql<{ id: string }>`
    insert into upload_fetch (workspace_id, object_key, url, upload_url, max_bytes, expires_at)
    select ${workspaceId}::uuid, ${objectKey}::text, ${url}::text, ${uploadUrl}::text, ${maxBytes}::bigint,
           now() + ${expiresInSeconds} * interval '1 s'
     where (select count(*) from upload_fetch
             where workspace_id = ${workspaceId} and ended_at is null and expires_at > now()) < ${openMax}
    returning id`.execute(db)
  return rows[0]?.id
}

export type EndedFetch = {
  readonly id: string
  readonly outcome: 'STORED' | FetchFailure | 'ABANDONED'
  readonly statusCode: number | null
  readonly contentType: string | null
  readonly sizeBytes: number | null
}

/** Ended ones of these. */
export const findEndedFetches = (db: Db, ids: readonly string[]): Promise<EndedFetch[]> =>
  db
    .selectFrom('upload_fetch')
    .select(['id', 'outcome', 'status_code as statusCode', 'content_type as contentType', 'size_bytes as sizeBytes'])
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .where('outcome', 'is not', null)
    .$narrowType<{ outcome: EndedFetch['outcome'] }>()
    .execute()

/** Ends a fetch whose caller has left. False: it has ended already. */
export async function abandonFetch(db: Db, id: string): Promise<boolean> {
  const { rows } = await sql`
    update upload_fetch set ended_at = now(), outcome = 'ABANDONED', url = null, upload_url = null
     where id = ${id} and ended_at is null
    returning id`.execute(db)
  return rows.length > 0
}

export type ClaimedFetch = {
  readonly id: string
  readonly claim: string
  readonly workspaceId: string
  readonly url: string
  readonly uploadUrl: string
  readonly maxBytes: number
  /** Whether an earlier claim expired, because its dispatcher died. */
  readonly takenOver: boolean
}

type ClaimOptions = {
  readonly limit: number
  readonly claimMs: number
  /** In flight of one workspace over all dispatchers; concurrent claims can exceed it. */
  readonly perWorkspace: number
  /** Bound on the sum of `max_bytes`; the first row is claimed whatever its size if `idle`. */
  readonly maxBytes: number
  readonly idle: boolean
}

/** Claims open fetches, workspaces in turn, the oldest first. */
export async function claimFetches(db: Db, options: ClaimOptions): Promise<ClaimedFetch[]> {
  const { limit, claimMs, perWorkspace, maxBytes, idle } = options
  const { rows } = await sql<ClaimedFetch>`
    with busy as materialized (
      -- A dispatcher may still wait for an image that the caller has abandoned.
      select workspace_id, count(*) as count from upload_fetch
       where created_at > now() - interval '5 minutes' and claimed_until > now()
         and (ended_at is null or outcome = 'ABANDONED')
       group by workspace_id
    ), candidate as (
      select f.id, f.max_bytes, f.created_at,
             coalesce(b.count, 0) + row_number() over (partition by workspace_id order by f.created_at, f.id) as turn
        from upload_fetch f left join busy b using (workspace_id)
       where f.ended_at is null and f.expires_at > now() and (f.claimed_until is null or f.claimed_until <= now())
    ), line as (
      select id, sum(max_bytes) over part as bytes, row_number() over part as place
        from candidate where turn <= ${perWorkspace}::int window part as (order by turn, created_at, id)
    ), picked as materialized (
      select f.id, f.claim is not null as lapsed from line l join upload_fetch f using (id)
       where (l.bytes <= ${maxBytes}::bigint or (${idle}::boolean and l.place = 1)) and l.place <= ${limit}::int
         and f.ended_at is null and (f.claimed_until is null or f.claimed_until <= now())
         for update of f skip locked
    )
    update upload_fetch f
       set claim = gen_random_uuid(), claimed_until = clock_timestamp() + ${claimMs} * interval '1 ms'
      from picked where f.id = picked.id
    returning f.id, f.claim, f.workspace_id as "workspaceId", f.url, f.upload_url as "uploadUrl",
              f.max_bytes as "maxBytes", picked.lapsed as "takenOver"`.execute(db)
  return rows
}

export type FetchEnd =
  | { readonly outcome: 'STORED'; readonly contentType: string; readonly sizeBytes: number }
  | { readonly outcome: FetchFailure; readonly statusCode?: number | undefined }

/** False: the claim was lost, or the API abandoned the fetch; nothing was written. */
export async function endFetch(db: Db, { id, claim }: Pick<ClaimedFetch, 'id' | 'claim'>, end: FetchEnd) {
  const stored = end.outcome === 'STORED' ? end : undefined
  const statusCode = end.outcome === 'STORED' ? null : (end.statusCode ?? null)
  const { rows } = await sql`
    update upload_fetch
       set ended_at = now(), outcome = ${end.outcome}, url = null, upload_url = null,
           status_code = ${statusCode}::int, content_type = ${stored?.contentType ?? null}::text,
           size_bytes = ${stored?.sizeBytes ?? null}::bigint
     where id = ${id} and claim = ${claim} and ended_at is null
    returning id`.execute(db)
  return rows.length > 0
}
