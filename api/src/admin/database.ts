import { applyRoles, printRoles, type RolePasswords } from '@matte/core/db/roles/apply-roles'
import { readPlace, roleName } from '@matte/core/db/roles/role-statements'
import { type ProcessRole, processRoles } from '@matte/core/db/roles/table-rights'
import { type Command, type CommandDeps, CommandError, type Given, UsageError } from './command.ts'

const migrate: Command = {
  name: 'database migrate',
  usage: '',
  summary:
    'migrate the schema to this version and grant the existing roles what it needs; every command does this ' +
    'first; needs the URL of the owner of the tables',
  run: async (_deps, given) => {
    expectNothing(given)
    return { schema: 'current' }
  },
}

const roles: Command = {
  name: 'database roles',
  usage: '',
  summary: 'print SQL for psql that creates a role for each process, with the privileges that this version needs',
  plain: 'sql',
  run: async ({ db }, given) => {
    expectNothing(given)
    return { sql: await printRoles(db) }
  },
}

const createRoles: Command = {
  name: 'database create-roles',
  usage: '',
  summary:
    'create these roles, or change their passwords, from the URLs in ' +
    `${processRoles.map(variableOf).join(', ')}; the user of DATABASE_URL needs CREATEROLE`,
  changes: true,
  run: async ({ db, change, roleUrls }, given) => {
    expectNothing(given)
    const { database } = await readPlace(db)
    const passwords = readPasswords(roleUrls, database)
    return { roles: await change({}, (tx) => applyRoles(tx, passwords)).catch(explain) }
  },
}

function expectNothing({ words }: Given): void {
  if (words.length > 0) throw new UsageError(`${words[0]} was not expected`)
}

/** @throws UsageError when a URL is missing or names another user than the role */
function readPasswords(urls: CommandDeps['roleUrls'], database: string): RolePasswords {
  const read = (role: ProcessRole): string => {
    const url = urls[role]
    if (url === undefined)
      throw new UsageError(`${variableOf(role)} is missing; its password becomes the password of the role`)
    const parsed = URL.parse(url)
    const user = decodeURIComponent(parsed?.username ?? '')
    if (user !== roleName(database, role) || !parsed?.password) {
      throw new UsageError(`${variableOf(role)} must be a URL with user ${roleName(database, role)} and a password`)
    }
    return decodeURIComponent(parsed.password)
  }
  return { api: read('api'), worker: read('worker'), operator: read('operator'), dispatcher: read('dispatcher') }
}

function variableOf(role: ProcessRole): string {
  return `DATABASE_URL_${role.toUpperCase()}`
}

function explain(error: unknown): never {
  const mayNot = error instanceof Error && 'code' in error && error.code === '42501'
  if (!mayNot) throw error
  throw new CommandError(
    `the user of DATABASE_URL cannot create roles (${error.message}): ` +
      'run the output of matte-admin database roles as a user with CREATEROLE',
  )
}

export const databaseCommands: readonly Command[] = [migrate, roles, createRoles]
