// Callers of the rembg door, which knows no keys: clients in the configured networks act for one workspace.
import { BlockList } from 'node:net'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { findWorkspace } from '@matte/core/workspace/workspace-queries'
import { shortCache } from './short-cache.ts'

type Workspace = { readonly workspaceId: string; readonly plan: string }

/** The workspace that clients of this address act for. @throws MatteError AUTH_FORBIDDEN */
export type NetworkCallers = (address: string) => Promise<Workspace>

type Settings = { readonly networks: readonly string[]; readonly workspaceId: string }

export function networkCallers(db: Db, { networks, workspaceId }: Settings): NetworkCallers {
  const isAllowed = addressesIn(networks)
  const cache = shortCache<Workspace>()
  const read = async (): Promise<Workspace | undefined> => {
    const workspace = await findWorkspace(db, workspaceId)
    return workspace && { workspaceId, plan: workspace.plan }
  }
  return async (address) => {
    if (!isAllowed(address)) {
      throw new MatteError('AUTH_FORBIDDEN', 'Your address is not in the networks that may use this path.')
    }
    const workspace = await cache.find(workspaceId, read)
    if (workspace === undefined) throw new Error(`DOORS_REMBG_WORKSPACE: there is no workspace ${workspaceId}`)
    return workspace
  }
}

/** An IPv4 network also matches its addresses in IPv4-mapped IPv6 form. */
export function addressesIn(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/')
    list.addSubnet(address, Number(prefix), familyOf(address))
  }
  return (text) => {
    const address = text.split('%')[0] ?? ''
    return list.check(address, familyOf(address))
  }
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (address.includes(':') ? 'ipv6' : 'ipv4')
