// Reseals secrets under the first master key, so older keys can be removed.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { type MasterKeys, seal, UnsealError, unseal } from '../../runtime/seal.ts'

/** Current secrets before previous ones: a rotation moves a secret to the previous column, which is read later. */
const places = [
  { table: 'workspace', id: 'id', column: 'callback_secret_sealed' },
  { table: 'workspace', id: 'id', column: 'previous_callback_secret_sealed' },
  { table: 'webhook_endpoint', id: 'id', column: 'secret_sealed' },
  { table: 'webhook_endpoint', id: 'id', column: 'previous_secret_sealed' },
  { table: 'webhook_endpoint', id: 'id', column: 'headers_sealed' },
  { table: 'signing_key', id: 'kid', column: 'private_sealed' },
  { table: 'mail', id: 'id', column: 'data_sealed' },
  { table: 'two_factor', id: 'user_id', column: 'secret_sealed' },
  { table: 'mailbox_key', id: 'id', column: 'key_sealed' },
] as const

type Place = (typeof places)[number]
type Sealed = { readonly id: string; readonly sealed: string }

/** `kept`: secrets that could not be opened; each reason is listed once. */
type Resealed = { readonly resealed: number; readonly kept: number; readonly reasons: readonly string[] }

const rowsAtOnce = 500

/** Reseals what another key sealed. Concurrent changes win. */
export async function resealSecrets(db: Db, keys: MasterKeys): Promise<Resealed> {
  const [first] = keys.keys()
  if (first === undefined) throw new Error('no master key')
  const reasons = new Set<string>()
  let resealed = 0
  let kept = 0
  for (const place of places) {
    let after = '00000000-0000-0000-0000-000000000000'
    for (;;) {
      const rows = await sealedByOthers(db, place, { first, after })
      for (const row of rows) {
        try {
          if (await replace(db, place, { ...row, fresh: seal(keys, row.id, unseal(keys, row.id, row.sealed)) }))
            resealed++
        } catch (error) {
          if (!(error instanceof UnsealError)) throw error
          reasons.add(error.message)
          kept++
        }
      }
      after = rows.at(-1)?.id ?? after
      if (rows.length < rowsAtOnce) break
    }
  }
  return { resealed, kept, reasons: [...reasons] }
}

/** The secret of a deleted endpoint is an empty text. */
async function sealedByOthers(
  db: Db,
  { table, id, column }: Place,
  { first, after }: { first: string; after: string },
) {
  const sealed = sql.ref(column)
  const { rows } = await sql<Sealed>`
    select ${sql.ref(id)} as id, ${sealed} as sealed from ${sql.table(table)}
     where ${sql.ref(id)} > ${after} and ${sealed} <> '' and split_part(${sealed}, '.', 1) <> ${first}
     order by ${sql.ref(id)} limit ${rowsAtOnce}`.execute(db)
  return rows
}

async function replace(db: Db, { table, id: idColumn, column }: Place, row: Sealed & { fresh: string }) {
  const { id, sealed, fresh } = row
  const { numAffectedRows = 0n } = await sql`
    update ${sql.table(table)} set ${sql.ref(column)} = ${fresh}
     where ${sql.ref(idColumn)} = ${id} and ${sql.ref(column)} = ${sealed}`.execute(db)
  return numAffectedRows > 0n
}
