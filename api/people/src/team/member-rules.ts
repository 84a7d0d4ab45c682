// Rules for changes of memberships. Pure: the callers have read the roles under the team's lock.
import { MatteError } from '@matte/core/error'
import type { Role } from '@matte/core/workspace/role'

type Parties = {
  readonly actor: Role
  readonly target: Role
  readonly otherOwners: number
}

export function refuseRoleChange({ actor, target, otherOwners }: Parties, to: Role): MatteError | undefined {
  if (actor !== 'owner' && actor !== 'admin') return forbidden(actor, ['owner', 'admin'])
  if (target === 'owner' && actor !== 'owner') return forbidden(actor, ['owner'])
  return refuseGiving(actor, to) ?? (to === 'owner' ? undefined : refuseWithoutOwner(target, otherOwners))
}

export const refuseInvitation = (actor: Role, to: Role): MatteError | undefined =>
  actor === 'owner' || actor === 'admin' ? refuseGiving(actor, to) : forbidden(actor, ['owner', 'admin'])

/** Owners and billing spend the owner's money, so only owners grant these roles. */
const refuseGiving = (actor: Role, to: Role): MatteError | undefined =>
  actor !== 'owner' && (to === 'owner' || to === 'billing') ? forbidden(actor, ['owner']) : undefined

/** Returns the error if the member must stay. Every member but the last owner may leave. */
export function refuseRemoval({ actor, target, otherOwners }: Parties, isSelf: boolean): MatteError | undefined {
  if (!isSelf) {
    if (actor !== 'owner' && actor !== 'admin') return forbidden(actor, ['owner', 'admin'])
    if (target === 'owner' && actor !== 'owner') return forbidden(actor, ['owner'])
  }
  return refuseWithoutOwner(target, otherOwners)
}

const refuseWithoutOwner = (target: Role, otherOwners: number): MatteError | undefined =>
  target === 'owner' && otherOwners === 0
    ? new MatteError('CONFLICT', 'A team must have an owner. Make another member an owner first.')
    : undefined

const forbidden = (role: Role, required: readonly Role[]): MatteError =>
  new MatteError('AUTH_FORBIDDEN', `This requires one of the roles ${required.join(', ')}.`, {
    details: { required, role },
  })
