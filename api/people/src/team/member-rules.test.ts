import { type Role, roles } from '@matte/core/workspace/role'
import { describe, expect, it } from 'vitest'
import { refuseInvitation, refuseRemoval, refuseRoleChange } from './member-rules.ts'

const pairs = roles.flatMap((actor) => roles.map((target) => ({ actor, target })))
/** Owners manage all roles, admins all but owners, other roles none. */
const manages = (actor: Role, target: Role): boolean => actor === 'owner' || (actor === 'admin' && target !== 'owner')
/** The role billing spends the owner's money, so only owners grant it. */
const gives = (actor: Role, to: Role): boolean =>
  actor === 'owner' || (actor === 'admin' && /^(admin|member)$/.test(to))

describe.each(pairs)('$actor and $target', ({ actor, target }) => {
  it.each(roles)('a change to %s', (to) => {
    const refusal = refuseRoleChange({ actor, target, otherOwners: 1 }, to)
    expect(refusal?.code).toBe(manages(actor, target) && gives(actor, to) ? undefined : 'AUTH_FORBIDDEN')
  })

  it('a removal', () => {
    const refusal = refuseRemoval({ actor, target, otherOwners: 1 }, false)
    expect(refusal?.code).toBe(manages(actor, target) ? undefined : 'AUTH_FORBIDDEN')
  })
})

describe('the last owner', () => {
  const last = { actor: 'owner', target: 'owner', otherOwners: 0 } as const

  it('can neither leave nor change role', () => {
    expect(refuseRemoval(last, true)?.code).toBe('CONFLICT')
    for (const to of roles) expect(refuseRoleChange(last, to)?.code).toBe(to === 'owner' ? undefined : 'CONFLICT')
  })
})

it.each(pairs)('an invitation by $actor as $target', ({ actor, target: to }) => {
  expect(refuseInvitation(actor, to)?.code).toBe(gives(actor, to) ? undefined : 'AUTH_FORBIDDEN')
})

it.each(['admin', 'billing', 'member'] as const)('a member with the role %s cannot raise their own role', (own) => {
  const allowed = roles.filter((to) => refuseRoleChange({ actor: own, target: own, otherOwners: 1 }, to) === undefined)
  expect(allowed).toEqual(own === 'admin' ? ['admin', 'member'] : [])
})

it.each(roles.filter((role) => role !== 'owner'))('a %s can leave', (role) => {
  expect(refuseRemoval({ actor: role, target: role, otherOwners: 1 }, true)).toBeUndefined()
})
