import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey, listApiKeys } from '@matte/core/workspace/api-key-queries'
import { networksMax, parseKeyNetwork } from '@matte/core/workspace/key/allowed-networks'
import { findWorkspaceOfKey, revokeApiKey } from '@matte/core/workspace/key/end-key'
import { rollKey } from '@matte/core/workspace/key/make-key'
import { adoptKeysOfMember } from '@matte/core/workspace/key/member-keys'
import { isScope, type Scope, scopes } from '@matte/core/workspace/scope'
import { findWorkspace } from '@matte/core/workspace/workspace-queries'
import { toMemberApiKeyView } from '../schemas/api-key.ts'
import { type Command, CommandError, UsageError } from './command.ts'
import { instant, requiredUuid, wholeNumber } from './options.ts'

const create: Command = {
  name: 'key create',
  usage: '--workspace ID [--scopes a,b] [--expires-at TIME] [--networks a,b] [--name NAME]',
  summary:
    'create an API key, printed once; it has all scopes unless --scopes is given, and works from any address unless ' +
    '--networks is given; without --expires-at it expires at the limit of the team, or never',
  changes: true,
  run: async ({ db, change }, given) => {
    const workspaceId = requiredUuid(given, 'workspace')
    const { scopes: list, name = 'matte-admin', 'expires-at': expiry, networks } = given.values
    const granted = list === undefined ? scopes : readScopes(list)
    const expiresAt = expiry === undefined ? null : instant(expiry, 'expires-at')
    const allowedNetworks = networks === undefined ? [] : readNetworks(networks)
    const key = generateApiKey()
    const row = await change(
      ({ id }: { readonly id: string }) => ({ workspaceId, target: id }),
      async (tx) => {
        const made = await insertApiKey(tx, key, { workspaceId, name, scopes: granted, expiresAt, allowedNetworks })
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
      expiresAt: row.expires_at?.toISOString() ?? null,
      allowedNetworks,
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
    const shown = keys.map((row) => {
      const { id, name, prefix, lastFour, recentAddresses, ...key } = toMemberApiKeyView(row)
      const addresses = recentAddresses.map(({ address, lastUsedAt }) => `${address}@${lastUsedAt}`)
      return { apiKeyId: id, name, key: `${prefix}…${lastFour}`, ...key, recentAddresses: addresses }
    })
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

function readNetworks(list: string): string[] {
  const networks = list.split(',').map((text) => {
    try {
      return parseKeyNetwork(text.trim())
    } catch (error) {
      throw new UsageError(`--networks: ${(error as Error).message}`)
    }
  })
  if (networks.length > networksMax) throw new UsageError(`--networks must name at most ${networksMax}`)
  return [...new Set(networks)]
}

function readScopes(list: string): Scope[] {
  const names = list.split(',').map((name) => name.trim())
  const unknown = names.filter((name) => !isScope(name))
  if (unknown.length > 0) throw new UsageError(`--scopes has ${unknown.join(', ')}; known are ${scopes.join(', ')}`)
  return [...new Set(names.filter(isScope))]
}

export const keyCommands: readonly Command[] = [create, list, roll, revoke, adopt]
