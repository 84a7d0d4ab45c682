import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey, revokeApiKey } from '@matte/core/workspace/api-key-queries'
import { isScope, type Scope, scopes } from '@matte/core/workspace/scope'
import { findWorkspace } from '@matte/core/workspace/workspace-queries'
import { type Command, CommandError, UsageError } from './command.ts'
import { instant, requiredUuid } from './options.ts'

const create: Command = {
  name: 'key create',
  usage: '--workspace ID [--scopes a,b] [--expires-at TIME] [--name NAME]',
  summary: 'make an API key, shown this once; without --scopes it gets all',
  options: ['workspace', 'scopes', 'expires-at', 'name'],
  run: async ({ db }, given) => {
    const workspaceId = requiredUuid(given, 'workspace')
    const { scopes: list, name = 'matte-admin', 'expires-at': expiry } = given.values
    const granted = list === undefined ? scopes : readScopes(list)
    const expiresAt = expiry === undefined ? null : instant(expiry, 'expires-at')
    const key = generateApiKey()
    const row = await insertApiKey(db, key, { workspaceId, name, scopes: granted, expiresAt })
    if (row === undefined) {
      const workspace = await findWorkspace(db, workspaceId)
      if (workspace === undefined) throw new CommandError(`there is no workspace ${workspaceId}`)
      throw new CommandError('the workspace has 100 keys already; revoke one first')
    }
    return {
      workspaceId,
      apiKeyId: row.id,
      apiKey: key.key,
      scopes: granted,
      expiresAt: expiresAt?.toISOString() ?? null,
    }
  },
}

const revoke: Command = {
  name: 'key revoke',
  usage: '--key ID',
  summary: 'end an API key; every replica refuses it within 5 s',
  options: ['key'],
  run: async ({ db }, given) => {
    const apiKeyId = requiredUuid(given, 'key')
    const row = await revokeApiKey(db, apiKeyId)
    if (row === undefined) throw new CommandError(`there is no key ${apiKeyId} that could be revoked`)
    return { apiKeyId, revoked: true }
  },
}

function readScopes(list: string): Scope[] {
  const names = list.split(',').map((name) => name.trim())
  const unknown = names.filter((name) => !isScope(name))
  if (unknown.length > 0) throw new UsageError(`--scopes has ${unknown.join(', ')}; known are ${scopes.join(', ')}`)
  return [...new Set(names.filter(isScope))]
}

export const keyCommands: readonly Command[] = [create, revoke]
