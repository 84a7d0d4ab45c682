// Secret that signs a workspace's callbacks: created on first use, rotated like an endpoint's.
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { type MasterKeys, seal, unseal } from '../runtime/seal.ts'

/**
 * `whsec_` and base64 of 32 random bytes. Concurrent first uses get the same secret.
 * @throws Error if the workspace does not exist; UnsealError if its master key is missing
 */
export async function getCallbackSecret(db: Db, keys: MasterKeys, workspaceId: string): Promise<string> {
  return (await getCallbackSecrets(db, keys, workspaceId)).secret
}

/**
 * Signing secrets; `previousSecret` during the overlap of a rotation. `known`: just read with something else.
 * @throws as `getCallbackSecret`
 */
export async function getCallbackSecrets(db: Db, keys: MasterKeys, workspaceId: string, known?: SealedSecrets) {
  const { secretSealed, previousSealed } =
    (known?.secretSealed ? known : await readSealed(db, workspaceId)) ??
    (await writeFirst(db, workspaceId, seal(keys, workspaceId, generateSigningSecret()))) ??
    (await readSealed(db, workspaceId)) ??
    {}
  if (!secretSealed) throw new Error('the workspace of this callback secret does not exist')
  return {
    secret: unseal(keys, workspaceId, secretSealed),
    previousSecret: previousSealed ? unseal(keys, workspaceId, previousSealed) : undefined,
  }
}

export type SealedSecrets = { readonly secretSealed: string | null; readonly previousSealed?: string | null }

/** Columns of a workspace; `secretSealed` is null before the first use. */
export const sealedSecrets = [
  sql<string | null>`callback_secret_sealed`.as('secretSealed'),
  sql<string | null>`case when previous_callback_until > now() then previous_callback_secret_sealed end`.as(
    'previousSealed',
  ),
] as const

/** Undefined: none yet. */
async function readSealed(db: Db, workspaceId: string): Promise<SealedSecrets | undefined> {
  return db
    .selectFrom('workspace')
    .select(sealedSecrets)
    .where('id', '=', workspaceId)
    .where('callback_secret_sealed', 'is not', null)
    .executeTakeFirst()
}

/** Undefined: another process wrote one first. */
async function writeFirst(db: Db, workspaceId: string, sealed: string): Promise<SealedSecrets | undefined> {
  return db
    .updateTable('workspace')
    .set({ callback_secret_sealed: sealed })
    .where('id', '=', workspaceId)
    .where('callback_secret_sealed', 'is', null)
    .returning('callback_secret_sealed as secretSealed')
    .executeTakeFirst()
}

/**
 * Rotates the secret. The previous one signs `X-Service-Signature` until `previousUntil` (null: not at all). A rotation
 * within an overlap keeps the older secret, which receivers know, and drops the one between.
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

/** A new signing secret: `whsec_` and base64 of 32 random bytes. */
export const generateSigningSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`
