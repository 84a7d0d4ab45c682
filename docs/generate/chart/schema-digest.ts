// Digest of the database schema and privileges. It is part of the setup Job's name, so an upgrade that needs a
// migration or a grant runs the Job again, even with the same image tag.
import { createHash } from 'node:crypto'
import { migrationNames } from '@matte/core/db/migrate'
import { tableRights } from '@matte/core/db/roles/table-rights'

/** A line for `charts/matte/files/schema-digest`. */
export const writeSchemaDigest = (): string =>
  `${createHash('sha256')
    .update(JSON.stringify([migrationNames, tableRights]))
    .digest('hex')}\n`
