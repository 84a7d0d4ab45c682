import { type Kysely, sql } from 'kysely'
import { foldAddress } from '../../address.ts'

// Fills the keys of 0026-address-key.ts. That migration's transaction added the columns, so rows stay readable here.
const rowsAtOnce = 5_000

type Columns = { readonly address: string; readonly key: string; readonly where: string }

async function fill(db: Kysely<unknown>, table: string, { address, key, where }: Columns): Promise<void> {
  const [name, email, emailKey] = [sql.table(table), sql.ref(address), sql.ref(key)]
  let after = '00000000-0000-0000-0000-000000000000'
  for (;;) {
    const { rows } = await sql<{ id: string; email: string }>`
      select id, ${email} as email from ${name} where id > ${after} and ${email} is not null and ${sql.raw(where)}
       order by id limit ${rowsAtOnce}`.execute(db)
    const last = rows.at(-1)
    if (last === undefined) return
    const keys = rows.map((row) => foldAddress(row.email))
    // Compares the address again, because the previous release may change it at the same time.
    await sql`
      update ${name} as t set ${emailKey} = given.key
        from unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map((row) => row.email)}::text[],
                    ${keys}::text[]) as given (id, email, key)
       where t.id = given.id and t.${email} = given.email`.execute(db)
    after = last.id
  }
}

const emailOf = { address: 'email', key: 'email_key', where: 'true' }

/** The invite list stores keys from now on; addresses with one key become one row. */
async function foldInvites(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ email: string }>`select email from registration_invite`.execute(db)
  for (const { email } of rows.filter((row) => foldAddress(row.email) !== row.email)) {
    await sql`
      insert into registration_invite (email, created_at)
      select ${foldAddress(email)}, created_at from registration_invite where email = ${email}
      on conflict do nothing`.execute(db)
    await sql`delete from registration_invite where email = ${email}`.execute(db)
  }
}

export async function up(db: Kysely<unknown>): Promise<void> {
  await fill(db, 'app_user', { ...emailOf, where: 'erased_at is null' })
  await fill(db, 'team_invite', emailOf)
  await fill(db, 'referral', emailOf)
  await fill(db, 'mail', { address: 'to_address', key: 'to_key', where: `status = 'pending'` })
  await foldInvites(db)
}
