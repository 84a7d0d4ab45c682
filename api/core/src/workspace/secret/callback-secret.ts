// The secret that signs a workspace's callbacks (D62): made on first use, rotated like an endpoint's (D63).
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { type MasterKeys, seal, unseal } from '../../runtime/seal.ts'
import { generateSigningSecret } from './signing-secret.ts'

/**
 * `whsec_` and base64 of 32 random bytes. Of several first users one writes, and the others read what it wrote.
 * @throws Error when the workspace does not exist, or its secret was sealed under a master key that is gone.
 */
export async function getCallbackSecret(db: Db, keys: MasterKeys, workspaceId: string): Promise<string> {
  return (await getCallbackSecrets(db, keys, workspaceId)).secret
}

/** What signs: `previousSecret` as well while a rotation's overlap lasts. @throws Error as `getCallbackSecret` */
export async function getCallbackSecrets(db: Db, keys: MasterKeys, workspaceId: string) {
  const { secretSealed, previousSealed } =
    (await readSealed(db, workspaceId)) ??
    (await writeFirst(db, workspaceId, seal(keys, workspaceId, generateSigningSecret()))) ??
    (await readSealed(db, workspaceId)) ??
    {}
  if (!secretSealed) throw new Error('the workspace of this callback secret does not exist')
  return {
    secret: unseal(keys, workspaceId, secretSealed),
    previousSecret: previousSealed ? unseal(keys, workspaceId, previousSealed) : undefined,
  }
}

type Sealed = { readonly secretSealed: string | null; readonly previousSealed?: string | null }

/** Undefined: there is none yet. */
async function readSealed(db: Db, workspaceId: string): Promise<Sealed | undefined> {
  return db
    .selectFrom('workspace')
    .select([
      'callback_secret_sealed as secretSealed',
      sql<string | null>`case when previous_callback_until > now() then previous_callback_secret_sealed end`.as(
        'previousSealed',
      ),
    ])
    .where('id', '=', workspaceId)
    .where('callback_secret_sealed', 'is not', null)
    .executeTakeFirst()
}

/** Undefined: somebody else wrote one first. */
async function writeFirst(db: Db, workspaceId: string, sealed: string): Promise<Sealed | undefined> {
  return db
    .updateTable('workspace')
    .set({ callback_secret_sealed: sealed })
    .where('id', '=', workspaceId)
    .where('callback_secret_sealed', 'is', null)
    .returning('callback_secret_sealed as secretSealed')
    .executeTakeFirst()
}

/**
 * Puts a new secret in force; `previousUntil`: the one before keys `X-Service-Signature` until then, null: there is
 * none. A rotation within an overlap keeps the older one, which receivers still know, and drops the one between.
 */
export async function rotateCallbackSecret(
  db: Db,
  keys: MasterKeys,
  { workspaceId, overlapSeconds }: { readonly workspaceId: string; readonly overlapSeconds: number },
) {
  const signingSecret = generateSigningSecret()
  const overlaps = sql<boolean>`${overlapSeconds}::int > 0 and callback_secret_sealed is not null`
  const { previousUntil } = await db
    .updateTable('workspace')
    .set({
      callback_secret_sealed: seal(keys, workspaceId, signingSecret),
      previous_callback_secret_sealed: sql`case when not (${overlaps}) then null
        when previous_callback_until > now() then previous_callback_secret_sealed else callback_secret_sealed end`,
      previous_callback_until: sql`case when ${overlaps} then now() + ${overlapSeconds}::int * interval '1 s' end`,
    })
    .where('id', '=', workspaceId)
    .returning('previous_callback_until as previousUntil')
    .executeTakeFirstOrThrow()
  return { signingSecret, previousUntil }
}
