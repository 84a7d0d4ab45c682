import type { Migration } from 'kysely/migration'
import * as init from './0001-init.ts'

/** Static on purpose: a folder read at run time differs between a checkout, an image and a test. */
export const migrations: Readonly<Record<string, Migration>> = {
  '0001-init': init,
}
