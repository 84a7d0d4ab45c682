// Keys that sign access tokens (D14): Ed25519, sealed in the database, shared by all replicas. Two are published from
// the start, the signing one and the next, so every replica and JWKS cache knows a key long before it signs. Rotation
// retires the first; it stays published until its last token expires.
import { randomUUID } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import { inTransaction } from '@matte/core/db/in-transaction'
import { type Loop, loop } from '@matte/core/runtime/loop'
import { type MasterKeys, seal, unseal } from '@matte/core/runtime/seal'
import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import { sql } from 'kysely'
import type { Logger } from 'pino'

export const signingAlgorithm = 'EdDSA'

export type SigningKey = {
  readonly kid: string
  readonly publicKey: CryptoKey
  readonly publicJwk: JWK
  readonly privateKey: CryptoKey
  /** The youngest active key signs. */
  readonly signs: boolean
}

/** Longer than the lifetime of an access token. */
const publishedAfterRetirementMinutes = 60
const keysInUse = 2

export async function readSigningKeys(db: Db, masterKeys: MasterKeys): Promise<readonly SigningKey[]> {
  const rows = await listPublished(db)
  const found =
    rows.filter(({ retired_at }) => retired_at === null).length >= keysInUse ? rows : await complete(db, masterKeys)
  const signing = found.find(({ active_at, retired_at }) => active_at !== null && retired_at === null)
  return Promise.all(
    found.map(async ({ kid, public_jwk, private_sealed }) => ({
      kid,
      publicJwk: public_jwk,
      publicKey: (await importJWK(public_jwk, signingAlgorithm)) as CryptoKey, // never a symmetric key
      privateKey: (await importJWK(JSON.parse(unseal(masterKeys, kid, private_sealed)), signingAlgorithm)) as CryptoKey,
      signs: kid === signing?.kid,
    })),
  )
}

const listPublished = (db: Db) =>
  db
    .selectFrom('signing_key')
    .selectAll()
    .where(sql<boolean>`(retired_at is null
      or retired_at > now() - ${publishedAfterRetirementMinutes} * interval '1 minute')`)
    .orderBy(sql`active_at desc nulls last, created_at, kid`)
    .execute()

function complete(db: Db, masterKeys: MasterKeys) {
  return inTransaction(db, async (tx) => {
    await lockSigningKeys(tx)
    const live = (await listPublished(tx)).filter(({ retired_at }) => retired_at === null)
    for (let count = live.length; count < keysInUse; count += 1) await insertKey(tx, masterKeys)
    await activateOne(tx)
    return listPublished(tx)
  })
}

const lockSigningKeys = (tx: Db) => sql`select pg_advisory_xact_lock(hashtext('matte.signing_key'))`.execute(tx)

async function insertKey(tx: Db, masterKeys: MasterKeys): Promise<string> {
  const { publicKey, privateKey } = await generateKeyPair(signingAlgorithm, { extractable: true })
  const kid = randomUUID()
  const publicJwk = { ...(await exportJWK(publicKey)), kid, alg: signingAlgorithm, use: 'sig' }
  const sealed = seal(masterKeys, kid, JSON.stringify(await exportJWK(privateKey)))
  await tx
    .insertInto('signing_key')
    .values({ kid, public_jwk: JSON.stringify(publicJwk), private_sealed: sealed })
    .execute()
  return kid
}

async function activateOne(tx: Db): Promise<void> {
  await sql`
    update signing_key set active_at = now()
     where kid = (select kid from signing_key where active_at is null order by created_at, kid limit 1)
       and not exists (select from signing_key where active_at is not null and retired_at is null)`.execute(tx)
}

/** Minutes a key waits before it signs: replicas read keys every minute, clients cache the JWKS for five. */
const waitsMinutes = 10

/** Activates the waiting key and creates the next one. Returns undefined if the waiting key is too young. */
export function rotateSigningKeys(db: Db, masterKeys: MasterKeys) {
  return inTransaction(db, async (tx) => {
    await lockSigningKeys(tx)
    const { rows } = await sql<{ kid: string }>`
      update signing_key set active_at = now()
       where kid = (select kid from signing_key where active_at is null
                       and created_at <= now() - ${waitsMinutes} * interval '1 minute'
                     order by created_at, kid limit 1)
      returning kid`.execute(tx)
    const [signing] = rows
    if (signing === undefined) return undefined
    await tx
      .updateTable('signing_key')
      .set({ retired_at: sql<Date>`now()` })
      .where('active_at', 'is not', null)
      .where('retired_at', 'is', null)
      .where('kid', '!=', signing.kid)
      .execute()
    return { signing: signing.kid, waiting: await insertKey(tx, masterKeys) }
  })
}

const everyMs = 60_000

export type SigningKeysCache = Loop & {
  current(): Promise<readonly SigningKey[]>
}

export function signingKeysCache(db: Db, masterKeys: MasterKeys, logger: Logger): SigningKeysCache {
  let keys: readonly SigningKey[] = []
  const refresh = async () => {
    keys = await readSigningKeys(db, masterKeys)
    return {}
  }
  return {
    ...loop({ name: 'signing-keys', everyMs, run: refresh, logger }),
    current: async () => {
      if (keys.length === 0) await refresh()
      return keys
    },
  }
}
