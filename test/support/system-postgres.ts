import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { PostgresInstallation } from '@matte/local/servers/postgres'

/** PostgreSQL of this machine in the paths of Debian's or Fedora's packages; undefined without one. */
export function findSystemPostgres(majorVersion: number): PostgresInstallation | undefined {
  const bins = [`/usr/lib/postgresql/${majorVersion}/bin`, `/usr/pgsql-${majorVersion}/bin`]
  const bin = bins.find((dir) => existsSync(join(dir, 'postgres')) && existsSync(join(dir, 'initdb')))
  return bin === undefined ? undefined : { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') }
}
