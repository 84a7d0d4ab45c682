// Who may change whose membership. Pure: the callers have read the roles under the team's lock.
import { MatteError } from '../error.ts'
import type { Role } from '../workspace/role.ts'

type Parties = {
  readonly actor: Role
  readonly target: Role
  /** Owners of the team besides the target, who can sign in. */
  readonly otherOwners: number
}

/** Why the role must not be changed so; undefined: it may. */
export function refuseRoleChange({ actor, target, otherOwners }: Parties, to: Role): MatteError | undefined {
  if (actor !== 'owner' && actor !== 'admin') return forbidden(actor, ['owner', 'admin'])
  if (target === 'owner' && actor !== 'owner') return forbidden(actor, ['owner'])
  return refuseGiving(actor, to) ?? (to === 'owner' ? undefined : refuseWithoutOwner(target, otherOwners))
}

/** Why the actor must not invite to the role; undefined: it may. */
export const refuseInvitation = (actor: Role, to: Role): MatteError | undefined =>
  actor === 'owner' || actor === 'admin' ? refuseGiving(actor, to) : forbidden(actor, ['owner', 'admin'])

/** Owners and billing spend the owner's money, so only an owner gives these roles: an admin could take it otherwise. */
const refuseGiving = (actor: Role, to: Role): MatteError | undefined =>
  actor !== 'owner' && (to === 'owner' || to === 'billing') ? forbidden(actor, ['owner']) : undefined

/** Why the member must stay; undefined: it may go. Everybody may leave. */
export function refuseRemoval({ actor, target, otherOwners }: Parties, isSelf: boolean): MatteError | undefined {
  if (!isSelf) {
    if (actor !== 'owner' && actor !== 'admin') return forbidden(actor, ['owner', 'admin'])
    if (target === 'owner' && actor !== 'owner') return forbidden(actor, ['owner'])
  }
  return refuseWithoutOwner(target, otherOwners)
}

const refuseWithoutOwner = (target: Role, otherOwners: number): MatteError | undefined =>
  target === 'owner' && otherOwners === 0
    ? new MatteError('CONFLICT', 'A team has an owner at all times: make someone else an owner first.')
    : undefined

const forbidden = (role: Role, required: readonly Role[]): MatteError =>
  new MatteError('AUTH_FORBIDDEN', `This needs one of the roles ${required.join(', ')}.`, {
    details: { required, role },
  })
