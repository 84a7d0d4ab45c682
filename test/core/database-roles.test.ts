// Database rights of each process (D89), read from PostgreSQL's catalog and tested under its role.
import { randomBytes } from 'node:crypto'
import { privilegesOf } from '@matte/core/db/roles/privileges'
import { roleName } from '@matte/core/db/roles/role-statements'
import { type ProcessRole, processRoles, tableRights } from '@matte/core/db/roles/table-rights'
import { replaceModels } from '@matte/core/model/model-queries'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { admin, adminText } from '../support/admin.ts'
import { startApi } from '../support/api.ts'
import { createEmptyDatabase, createTestDatabase, type TestDatabase, useDatabase } from '../support/database.ts'
import { freePorts } from '../support/free-ports.ts'
import { processDb, template } from '../support/roles.ts'
import { until } from '../support/until.ts'

const own: TestDatabase[] = []
/** A database of this test; its roles are dropped with it. */
async function given(making: Promise<TestDatabase>): Promise<TestDatabase> {
  const database = await making
  own.push(database)
  return database
}
afterAll(async () => {
  for (const { name, db, drop } of own) {
    for (const role of processRoles) {
      const exists = await sql`select from pg_roles where rolname = ${roleName(name, role)}`.execute(db)
      if (exists.rows.length === 0) continue
      await sql.raw(`drop owned by ${roleName(name, role)}`).execute(db)
      await sql.raw(`drop role ${roleName(name, role)}`).execute(db)
    }
    await drop()
  }
})

/** Role URLs as arguments of `database create-roles`. */
function roleEnv({ name, url }: TestDatabase): Record<string, string> {
  const urls = processRoles.map((role) => {
    const one = Object.assign(new URL(url), {
      username: roleName(name, role),
      password: `${role}-${randomBytes(6).toString('hex')}`,
    })
    return [`DATABASE_URL_${role.toUpperCase()}`, one.href]
  })
  return Object.fromEntries(urls)
}

async function tryAs(url: string, statement: string): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('begin')
    await client.query(statement)
    return 'done'
  } catch (error) {
    return String((error as { code?: string }).code)
  } finally {
    await client.end()
  }
}

/** `privilege on table` and `privilege (column) on table` in the catalog for a role. */
async function granted({ db }: Pick<TestDatabase, 'db'>, role: string): Promise<string[]> {
  const { rows } = await sql<{ text: string }>`
    select lower(acl.privilege_type) || ' on ' || c.relname as text
      from pg_class c cross join lateral aclexplode(c.relacl) acl
     where acl.grantee = ${role}::regrole and c.relkind <> 'S'
    union all
    select lower(acl.privilege_type) || ' (' || a.attname || ') on ' || c.relname
      from pg_attribute a join pg_class c on c.oid = a.attrelid cross join lateral aclexplode(a.attacl) acl
     where acl.grantee = ${role}::regrole`.execute(db)
  return rows.map(({ text }) => text).sort()
}

const wanted = (role: ProcessRole): string[] =>
  privilegesOf([role])
    .map(({ table, privilege, column }) => `${privilege}${column === undefined ? '' : ` (${column})`} on ${table}`)
    .sort()

describe('roles of our processes', () => {
  const database = useDatabase()

  it('have a decision for every table', async () => {
    const { rows } = await sql<{ name: string }>`
      select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
       and relname not like 'kysely_%' order by 1`.execute(database.db)
    expect(rows.map(({ name }) => name)).toEqual(Object.keys(tableRights).sort())
  })

  it.each(processRoles)('give the %s exactly the rights that it needs', async (role) => {
    expect(await granted(database, roleName(template, role))).toEqual(wanted(role))
  })

  it('let the worker update models', async () => {
    const models = [{ name: 'of-worker', pool: 'p', tritonModel: 'm', isDefault: true }]
    expect(await replaceModels(processDb('worker', database.db), models)).toBe(true)
  })

  const secrets = {
    worker: [
      ...['select password_hash from app_user', 'select email from app_user', 'select from session'],
      ...['select secret_sealed from webhook_endpoint', 'select callback_secret_sealed from workspace'],
      ...['select data_sealed from mail', 'select to_address from mail', 'select from payment_order'],
      ...[
        'select from subscription',
        'select from refund',
        'select from invoice',
        'select payment_fingerprint from workspace',
      ],
      ...[
        'select hash from api_key',
        'select from signing_key',
        'select from two_factor',
        "update workspace set plan = 'pro'",
      ],
      ...['insert into credit_lot default values', "update setting set value = 'true'"],
    ],
    operator: [
      ...['select from app_user', 'select from session', 'select from webhook_endpoint', 'select from mail'],
      ...[
        'select from payment_order',
        'select from api_key',
        'select name from workspace',
        "update task set status = 'failed'",
      ],
      ...['delete from inference_window', "update setting set value = 'true'", 'select from credit_lot'],
      ...['select from operator_credential', 'delete from scaling_decision'],
    ],
    dispatcher: [
      ...[
        'select password_hash from app_user',
        "update app_user set email = 'a@example.com'",
        'select from refresh_token',
      ],
      ...[
        'select ended_at from session',
        'select from two_factor',
        'select from recovery_code',
        'select from signing_key',
      ],
      ...[
        'select hash from api_key',
        'select recent_addresses from api_key',
        'update api_key set expires_at = null',
        'select from account_request',
        "update task set status = 'failed'",
        'delete from workspace',
      ],
    ],
    api: [
      'delete from workspace',
      'delete from credit_entry',
      'delete from payment_order',
      'delete from inference_window',
      'insert into pool_report default values',
    ],
  }
  const schema = [
    ...['create table mine (id int)', 'drop table task', 'alter table task add column more int', 'create schema mine'],
    ...['truncate task', 'create function f() returns int language sql as $$ select 1 $$', 'create role another'],
    ...['delete from kysely_migration', 'create index on task (id)', 'alter table task disable trigger all'],
  ]

  it.each(processRoles)('deny the %s other tables and every change of the schema', async (role) => {
    const url = Object.assign(new URL(database.url), { username: roleName(template, role) }).href
    const answers = await Promise.all([...secrets[role], ...schema].map(async (one) => [one, await tryAs(url, one)]))
    expect(answers.filter(([, answer]) => answer !== '42501')).toEqual([])
  })
})

describe('matte-admin database roles', () => {
  it('prints SQL that creates the roles and, at each run, revokes rights that a release no longer needs', async () => {
    const database = await given(createEmptyDatabase())
    const { db, name, url } = database
    const print = () => adminText(['database', 'roles'], { DATABASE_URL: url })
    await sql.raw(await print()).execute(db)
    const worker = roleName(name, 'worker')
    await sql
      .raw(`grant all on app_user to ${worker}; grant select (secret_sealed) on webhook_endpoint to ${worker}`)
      .execute(db)
    const again = await print()
    await sql.raw(again).execute(db)
    for (const role of processRoles) expect(await granted(database, roleName(name, role))).toEqual(wanted(role))
    expect(again).toContain(`-- \\password "${worker}"`)
    const { rows } = await sql<{ settings: string[] }>`
      select setconfig as settings from pg_db_role_setting where setrole = ${worker}::regrole`.execute(db)
    expect(rows[0]?.settings).toEqual(['statement_timeout=30s', 'idle_in_transaction_session_timeout=5s'])
  })
})

describe('matte-admin database create-roles', () => {
  it('creates roles with the passwords of their URLs, also after the passwords changed', async () => {
    const database = await given(createEmptyDatabase())
    for (const env of [roleEnv(database), roleEnv(database)]) {
      const { roles } = await admin(['database', 'create-roles'], { DATABASE_URL: database.url, ...env })
      expect(roles).toEqual(processRoles.map((role) => roleName(database.name, role)))
      const answers = await Promise.all(
        Object.values(env).map((url) =>
          Promise.all([tryAs(url, 'select name from kysely_migration'), tryAs(url, 'create temp table t (id int)')]),
        ),
      )
      expect(answers).toEqual(processRoles.map(() => ['done', '42501']))
    }
  })

  it('reports a missing URL, a wrong user, and a right that the user lacks', async () => {
    const database = await given(createTestDatabase())
    const env = roleEnv(database)
    const run = (more: Record<string, string>) =>
      admin(['database', 'create-roles'], { DATABASE_URL: database.url, ...env, ...more })
    await expect(run({ DATABASE_URL_WORKER: '' })).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('DATABASE_URL_WORKER is missing'),
    })
    await expect(run({ DATABASE_URL_API: database.url })).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`DATABASE_URL_API must be a URL with user ${database.name}_api and a password`),
    })
    const user = Object.assign(new URL(database.url), { username: roleName(template, 'api') }).href
    await expect(run({ DATABASE_URL: user })).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot create roles'),
    })
  })
})

describe('a process whose role does not own the tables', () => {
  /** An API that starts, and the body of its health response. */
  async function startWaiting(databaseUrl: string) {
    const [port = 0] = await freePorts(1)
    const read = (path: string) =>
      fetch(`http://127.0.0.1:${port}/${path}`)
        .then((answer) => answer.text())
        .catch(() => '')
    return { starting: startApi({ DATABASE_URL: databaseUrl, HEALTH_PORT: String(port) }), read }
  }

  it('waits for the owner to migrate and to grant rights on new tables', async () => {
    const database = await given(createEmptyDatabase())
    const { db, name, url } = database
    const user = roleName(name, 'api')
    const asUser = Object.assign(new URL(url), { username: user }).href
    await sql.raw(`create role ${user} login password 'test'`).execute(db)
    const { starting, read } = await startWaiting(asUser)
    await until('the API waits', async () => (await read('readyz')).includes('schema is older than this build'))
    await expect(admin(['setting', 'list'], { DATABASE_URL: asUser })).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('run matte-admin database migrate with the URL of the owner of the tables'),
    })
    expect(await admin(['database', 'migrate'], { DATABASE_URL: url })).toEqual({ schema: 'current' })
    const api = await starting
    try {
      expect((await fetch(`${api.url}/readyz`)).status).toBe(200)
      expect(await granted(database, user)).toEqual(wanted('api'))
    } finally {
      await api.stop()
    }
  })

  it('waits for a privilege that this build needs, which the owner grants at its next start', async () => {
    const database = await given(createEmptyDatabase())
    const env = roleEnv(database)
    await admin(['database', 'create-roles'], { DATABASE_URL: database.url, ...env })
    await sql.raw(`revoke update on task from ${roleName(database.name, 'api')}`).execute(database.db)
    const { starting, read } = await startWaiting(env.DATABASE_URL_API ?? '')
    await until('the API waits', async () => (await read('readyz')).includes('privileges are missing'))
    await admin(['database', 'migrate'], { DATABASE_URL: database.url })
    await (await starting).stop()
  })

  it('waits for a role that is created after its start', async () => {
    const database = await given(createEmptyDatabase())
    const env = roleEnv(database)
    const { starting, read } = await startWaiting(env.DATABASE_URL_API ?? '')
    await until('a login was refused', async () => /reason="credentials"[^}]*\} [1-9]/.test(await read('metrics')))
    await admin(['database', 'create-roles'], { DATABASE_URL: database.url, ...env })
    await (await starting).stop()
  })
})
