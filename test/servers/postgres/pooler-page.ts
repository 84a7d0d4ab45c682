// PgBouncer as docs/operations/pooler.md sets it up, so a test follows the page.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { type Pooler, startPgbouncer } from '../../controller/pgbouncer.ts'

/** The page's `[pgbouncer]` section. */
const page = readFileSync(join(rootDir, 'docs/operations/pooler.md'), 'utf8')
const section = /^```ini\n\[pgbouncer\]\n(.*?)^```$/ms.exec(page)?.[1] ?? ''
const settings = Object.fromEntries(
  [...section.matchAll(/^(\w+) = (.+)$/gm)].map(([, name = '', value = '']) => [name, value]),
)

export function startPoolerOfPage(serverUrl: string, own: Readonly<Record<string, string>> = {}): Promise<Pooler> {
  const { pool_mode: mode, default_pool_size: poolSize, max_db_connections: databaseMax, ...others } = settings
  const { max_client_conn: _sameInTests, ...more } = others
  if (mode !== 'transaction') throw new Error('docs/operations/pooler.md has no section for transaction mode')
  return startPgbouncer({
    mode,
    poolSize: Number(poolSize),
    databaseMax: Number(databaseMax),
    settings: { ...more, ...own },
    serverUrl,
  })
}
