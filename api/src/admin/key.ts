import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey, listApiKeys } from '@matte/core/workspace/api-key-queries'
import { findWorkspaceOfKey, revokeApiKey } from '@matte/core/workspace/key/end-key'
import { rollKey } from '@matte/core/workspace/key/make-key'
import { adoptKeysOfMember } from '@matte/core/workspace/key/member-keys'
import { isScope, type Scope, scopes } from '@matte/core/workspace/scope'
import { findWorkspace } from '@matte/core/workspace/workspace-queries'
import { type Command, CommandError, UsageError } from './command.ts'
import { instant, requiredUuid, wholeNumber } from './options.ts'

const create: Command = {
  name: 'key create',
  usage: '--workspace ID [--scopes a,b] [--expires-at TIME] [--name NAME]',
  summary: 'create an API key, printed once; it has all scopes unless --scopes is given',
  changes: true,
  run: async ({ db, change }, given) => {
    const workspaceId = requiredUuid(given, 'workspace')
    const { scopes: list, name = 'matte-admin', 'expires-at': expiry } = given.values
    const granted = list === undefined ? scopes : readScopes(list)
    const expiresAt = expiry === undefined ? null : instant(expiry, 'expires-at')
    const key = generateApiKey()
    const row = await change(
      ({ id }: { readonly id: string }) => ({ workspaceId, target: id }),
      async (tx) => {
        const made = await insertApiKey(tx, key, { workspaceId, name, scopes: granted, expiresAt })
        if (made !== undefined) return made
        const workspace = await findWorkspace(db, workspaceId)
        if (workspace === undefined) throw new CommandError(`there is no workspace ${workspaceId}`)
        throw new CommandError('the workspace already has 100 keys; revoke one first')
      },
    )
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
  summary: 'revoke an API key; every replica refuses it within 5 s',
  changes: true,
  run: async ({ change }, given) => {
    const apiKeyId = requiredUuid(given, 'key')
    await change(
      (key: { readonly workspace_id: string }) => ({ workspaceId: key.workspace_id, target: apiKeyId }),
      async (tx) => {
        const row = await revokeApiKey(tx, apiKeyId)
        if (row === undefined) throw new CommandError(`there is no key ${apiKeyId}, or it is already revoked`)
        return row
      },
    )
    return { apiKeyId, revoked: true }
  },
}

const list: Command = {
  name: 'key list',
  usage: '--workspace ID',
  summary: 'list the API keys of a workspace, newest first; the keys themselves are not stored',
  run: async ({ db }, given) => {
    const workspaceId = requiredUuid(given, 'workspace')
    const keys = await listApiKeys(db, workspaceId)
    if (keys.length === 0 && (await findWorkspace(db, workspaceId)) === undefined) {
      throw new CommandError(`there is no workspace ${workspaceId}`)
    }
    const shown = keys.map(
      ({ id, name, prefix, last_four, scopes, created_at, expires_at, last_used_at, revoked_at }) => ({
        ...{ apiKeyId: id, name, key: `${prefix}…${last_four}`, scopes, createdAt: created_at.toISOString() },
        expiresAt: expires_at?.toISOString() ?? null,
        lastUsedAt: last_used_at?.toISOString() ?? null,
        revokedAt: revoked_at?.toISOString() ?? null,
      }),
    )
    return { workspaceId, keys: shown }
  },
}

const overlapSecondsMax = 7 * 24 * 60 * 60

const roll: Command = {
  name: 'key roll',
  usage: '--key ID [--overlap-seconds N]',
  summary: 'replace an API key with one of the same name, scopes and lifetime, printed once; both work for a day',
  changes: true,
  run: async ({ db, change }, given) => {
    const rolled = requiredUuid(given, 'key')
    const { 'overlap-seconds': overlap = '86400' } = given.values
    const overlapSeconds = wholeNumber(overlap, 'overlap-seconds', { min: 0, max: overlapSecondsMax })
    const workspaceId = await findWorkspaceOfKey(db, rolled)
    if (workspaceId === undefined) throw new CommandError(`there is no key ${rolled}`)
    const { id, key, scopes, expires_at } = await change({ workspaceId, target: rolled }, (tx) =>
      rollKey(tx, { workspaceId, id: rolled, overlapSeconds }),
    )
    return { workspaceId, apiKeyId: id, apiKey: key, scopes, expiresAt: expires_at?.toISOString() ?? null, rolled }
  },
}

const adopt: Command = {
  name: 'key adopt',
  usage: '--workspace ID --from USER --to OWNER',
  summary: "transfer a member's API keys to an owner, so they keep working when the member is removed",
  changes: true,
  run: async ({ change }, given) => {
    const workspaceId = requiredUuid(given, 'workspace')
    const [from, to] = [requiredUuid(given, 'from'), requiredUuid(given, 'to')]
    const adopted = await change({ workspaceId, target: to }, (tx) => adoptKeysOfMember(tx, { workspaceId, from, to }))
    return { workspaceId, to, adopted }
  },
}

function readScopes(list: string): Scope[] {
  const names = list.split(',').map((name) => name.trim())
  const unknown = names.filter((name) => !isScope(name))
  if (unknown.length > 0) throw new UsageError(`--scopes has ${unknown.join(', ')}; known are ${scopes.join(', ')}`)
  return [...new Set(names.filter(isScope))]
}

export const keyCommands: readonly Command[] = [create, list, roll, revoke, adopt]
