import { openDatabase } from '@matte/core/db/database'
import { applyRoles, type RolePasswords } from '@matte/core/db/roles/apply-roles'
import { schemaAtStart } from '@matte/core/db/schema'
import { createLogger } from '@matte/core/runtime/logger'

/** Does in the database of `make up` what the setup Job does in a cluster, as the owner of the tables. */
export async function migrateWithRoles(url: string, passwords: RolePasswords): Promise<void> {
  const logger = createLogger('local', 'warn', { write: () => undefined })
  const database = openDatabase({ url, poolMax: 1, logger, applicationName: 'matte-local' })
  try {
    await schemaAtStart(database, { logger, roles: [] }).start()
    await applyRoles(database.db, passwords)
  } finally {
    await database.stop()
  }
}
