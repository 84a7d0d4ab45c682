// The keys that sign access tokens (D14): Ed25519, sealed in the database, so that every replica signs and verifies
// with the same. Two are published from the start: one signs, the next waits, and every replica and every cache of the
// JWKS knows it long before it signs. Rotation retires the first; it stays published until its last token has ended.
import { randomUUID } from 'node:crypto'
import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { type MasterKeys, seal, unseal } from '../runtime/seal.ts'

export const signingAlgorithm = 'EdDSA'

export type SigningKey = {
  readonly kid: string
  readonly publicKey: CryptoKey
  /** As the JWKS publishes it. */
  readonly publicJwk: JWK
  readonly privateKey: CryptoKey
  /** It signs: the youngest that is active. */
  readonly signs: boolean
}

/** Keys that are published: one that signs, one that waits, and those retired whose tokens may be in use. */
const publishedAfterRetirementMinutes = 60
const keysInUse = 2

/** All published keys, the one that signs first. Makes the first two where there are none. */
export async function readSigningKeys(db: Db, masterKeys: MasterKeys): Promise<readonly SigningKey[]> {
  const rows = await listPublished(db)
  const found =
    rows.filter(({ retired_at }) => retired_at === null).length >= keysInUse ? rows : await complete(db, masterKeys)
  const signing = found.find(({ active_at, retired_at }) => active_at !== null && retired_at === null)
  return Promise.all(
    found.map(async ({ kid, public_jwk, private_sealed }) => ({
      kid,
      publicJwk: public_jwk,
      publicKey: (await importJWK(public_jwk, signingAlgorithm)) as CryptoKey, // a key pair and no secret
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

/** Of several replicas that start at once one makes them. */
function complete(db: Db, masterKeys: MasterKeys) {
  return db.transaction().execute(async (tx) => {
    await lockSigningKeys(tx)
    const live = (await listPublished(tx)).filter(({ retired_at }) => retired_at === null)
    for (let count = live.length; count < keysInUse; count += 1) await insertKey(tx, masterKeys)
    await activateOne(tx)
    return listPublished(tx)
  })
}

/** Nobody else changes the keys until the transaction ends. */
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

/** Unless one signs already: the oldest that waits. */
async function activateOne(tx: Db): Promise<void> {
  await sql`
    update signing_key set active_at = now()
     where kid = (select kid from signing_key where active_at is null order by created_at, kid limit 1)
       and not exists (select from signing_key where active_at is not null and retired_at is null)`.execute(tx)
}

/** A key waits so long before it signs: every replica reads the keys within a minute, others keep the JWKS for five. */
const waitsMinutes = 10

/**
 * The key that waits signs from now on, and a new one waits. The former one stays published until its last token has
 * ended. Undefined: the waiting key is so young that somebody may not know it.
 */
export function rotateSigningKeys(db: Db, masterKeys: MasterKeys) {
  return db.transaction().execute(async (tx) => {
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
