// Rights of a role in a team, so the page offers nothing that the service would refuse. The service decides.
import type { App } from 'matte-client/app'

type Role = App.Role

export const roles: readonly Role[] = ['owner', 'admin', 'billing', 'member']

export const managesMembers = (role: Role): boolean => role === 'owner' || role === 'admin'
export const seesCredits = (role: Role): boolean => role !== 'member'

type Parties = { readonly actor: Role; readonly target: Role; readonly owners: number }

/** Roles that the actor can give to the target, including the current role. A single role: no choice. */
export function rolesFor({ actor, target, owners }: Parties): readonly Role[] {
  const isLastOwner = target === 'owner' && owners < 2
  if (!managesMembers(actor) || isLastOwner || (target === 'owner' && actor !== 'owner')) return [target]
  return roles.filter((role) => role === target || actor === 'owner' || role === 'admin' || role === 'member')
}

/** The last owner stays; only owners remove owners. */
export function canRemove({ actor, target, owners }: Parties, isSelf: boolean): boolean {
  if (target === 'owner' && owners < 2) return false
  return isSelf || (managesMembers(actor) && (target !== 'owner' || actor === 'owner'))
}

export type InviteRole = App.TeamInvite['role']

export const inviteRoles = (actor: Role): readonly InviteRole[] =>
  actor === 'owner' ? ['member', 'admin', 'billing'] : ['member', 'admin']

/** The change takes API keys and invitations from the member. */
export const losesKeys = (from: Role, to: Role): boolean => managesMembers(from) && !managesMembers(to)

/** A monthly limit as typed. Null: no limit; undefined: not a limit. */
export function parseLimit(typed: string): number | null | undefined {
  const text = typed.trim()
  if (text === '') return null
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined
}
