// Database roles of our processes in tests. Created with the template, whose privileges its copies keep, so they are
// named after it. Processes and their functions run as these roles: a missing grant fails with 42501.
import { type Database, type Db, openDatabase } from '@matte/core/db/database'
import { applyRoles } from '@matte/core/db/roles/apply-roles'
import { roleName } from '@matte/core/db/roles/role-statements'
import type { ProcessRole } from '@matte/core/db/roles/table-rights'
import { pino } from 'pino'

export const template = 'matte_template'
/** Prefix of every copy of the template; other databases have no roles. */
export const copyPrefix = 't_'

const password = 'test'
const logger = pino({ level: 'silent' })

/** Call on the template after its migration. */
export const makeRoles = (db: Db) =>
  applyRoles(db, { api: password, worker: password, operator: password, dispatcher: password })

/** URL for one process; unchanged for databases that are no copies of the template, and for other users. */
export function urlAs(role: ProcessRole, url: string): string {
  const parsed = URL.parse(url)
  if (parsed?.username !== 'matte' || !parsed.pathname.startsWith(`/${copyPrefix}`)) return url
  return Object.assign(parsed, { username: roleName(template, role), password }).href
}

/** `DATABASE_URL` and `DATABASE_DIRECT_URL` for one process. */
export function envAs<E extends Readonly<Record<string, string>>>(role: ProcessRole, env: E): E {
  const urls = ['DATABASE_URL', 'DATABASE_DIRECT_URL'].flatMap((name) => {
    const url = env[name]
    return url === undefined ? [] : [[name, urlAs(role, url)]]
  })
  return { ...env, ...Object.fromEntries(urls) }
}

type Opened = { readonly url: string; readonly pools: Map<ProcessRole, Database> }
const opened = new WeakMap<Db, Opened>()

/** Lets `processDb` open pools beside this one. */
export const knowUrl = (db: Db, url: string): void => void opened.set(db, { url, pools: new Map() })

/** The same database under the role of a process, for its functions that a test calls. Other pools keep their role. */
export function processDb(role: ProcessRole, db: Db): Db {
  const known = opened.get(db)
  if (known === undefined) return db
  const pool =
    known.pools.get(role) ??
    openDatabase({ url: urlAs(role, known.url), poolMax: 20, logger, applicationName: `test-${role}` })
  known.pools.set(role, pool)
  return pool.db
}

export async function closeProcessDbs(db: Db): Promise<void> {
  await Promise.all([...(opened.get(db)?.pools.values() ?? [])].map((pool) => pool.stop()))
}
