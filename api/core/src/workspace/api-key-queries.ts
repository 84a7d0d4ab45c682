import { type Selectable, sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { inTransaction } from '../db/in-transaction.ts'
import type { ApiKeyTable } from '../db/tables/workspace.ts'
import { invalidParams } from '../invalid-params.ts'
import type { NewApiKey } from './api-key.ts'
import type { Scope } from './scope.ts'
import { lockWorkspace } from './workspace-queries.ts'

type ApiKeyInput = {
  readonly workspaceId: string
  readonly name: string
  readonly scopes: readonly Scope[]
  /** Null: the latest time that the team allows, or never. */
  readonly expiresAt: Date | null
  /** Canonical CIDRs, at most `networksMax`; absent or empty: any address. */
  readonly allowedNetworks?: readonly string[] | undefined
  /** The member who creates the key; absent: an operator. */
  readonly createdBy?: string | null
}

/** Maximum number of working keys in a workspace. */
export const apiKeysMax = 100
/** Keys in a list: all working ones and the latest of the others. */
const listedMax = 1_000

/**
 * Stores a new key's hash. Undefined: the workspace has `apiKeysMax` keys already, or does not exist. Locks the
 * workspace, so concurrent calls see each other's keys.
 * @throws MatteError INVALID_PARAMS if the key would outlive `max_key_days` of the workspace
 */
export function insertApiKey(db: Db, key: NewApiKey, input: ApiKeyInput): Promise<ApiKeyRow | undefined> {
  const insert = async (tx: Db): Promise<ApiKeyRow | undefined> => {
    const workspace = await lockWorkspace(tx, input.workspaceId)
    if (workspace === undefined || (await countApiKeys(tx, workspace.id)) >= apiKeysMax) return undefined
    return insertRow(tx, key, { ...input, expiresAt: await readExpiry(tx, input) })
  }
  return inTransaction(db, insert)
}

async function readExpiry(tx: Db, { workspaceId, expiresAt }: ApiKeyInput): Promise<Date | null> {
  const { days, latest, isLater } = await tx
    .selectFrom('workspace')
    .select('max_key_days as days')
    .select(latestExpiry.as('latest'))
    .select(sql<boolean | null>`${expiresAt}::timestamptz > ${latestExpiry}`.as('isLater'))
    .where('id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  if (!isLater) return expiresAt ?? latest
  const message = `must be at most ${days} days ahead, the longest life of a key that the team allows`
  throw invalidParams([{ path: '/body/expiresAt', message }], { message: `The expiry of a key ${message}.` })
}

/** Latest expiry of a key that is made now in a row of `workspace`; null: no limit. */
export const latestExpiry = sql<Date | null>`now() + max_key_days * interval '1 day'`

async function countApiKeys(db: Db, workspaceId: string): Promise<number> {
  const { count } = await db
    .selectFrom('api_key')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .where(works)
    .executeTakeFirstOrThrow()
  return count
}

/** Neither revoked nor expired. */
const works = sql<boolean>`revoked_at is null and (expires_at is null or expires_at > now())`

const insertRow = (db: Db, key: NewApiKey, { workspaceId, name, scopes, expiresAt, ...input }: ApiKeyInput) =>
  db
    .insertInto('api_key')
    .values({
      workspace_id: workspaceId,
      name,
      hash: key.hash,
      prefix: key.prefix,
      last_four: key.lastFour,
      scopes: [...scopes],
      expires_at: expiresAt,
      allowed_networks: [...(input.allowedNetworks ?? [])],
      created_by: input.createdBy ?? null,
    })
    .returning(shown)
    .executeTakeFirst()

const shown = [
  'id',
  'name',
  'prefix',
  'last_four',
  'scopes',
  'created_at',
  'expires_at',
  'last_used_at',
  'revoked_at',
  'allowed_networks',
  'recent_addresses',
] as const

export type ApiKeyRow = Pick<Selectable<ApiKeyTable>, (typeof shown)[number]>

/** The key, if it belongs to this workspace; undefined otherwise. */
export function findApiKey(db: Db, workspaceId: string, id: string): Promise<ApiKeyRow | undefined> {
  return db
    .selectFrom('api_key')
    .select(shown)
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
}

/** Keys of a workspace, newest first, including revoked ones. */
export function listApiKeys(db: Db, workspaceId: string): Promise<ApiKeyRow[]> {
  return db
    .selectFrom((eb) =>
      eb
        .selectFrom('api_key')
        .select(shown)
        .where('workspace_id', '=', workspaceId)
        .orderBy((inner) => inner('revoked_at', 'is not', null))
        .orderBy('created_at', 'desc')
        .limit(listedMax)
        .as('listed'),
    )
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
}
