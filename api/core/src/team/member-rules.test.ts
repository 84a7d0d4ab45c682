import { describe, expect, it } from 'vitest'
import { type Role, roles } from '../workspace/role.ts'
import { refuseInvitation, refuseRemoval, refuseRoleChange } from './member-rules.ts'

const pairs = roles.flatMap((actor) => roles.map((target) => ({ actor, target })))
/** Rank of who manages whom; billing and members manage nobody. */
const manages = (actor: Role, target: Role): boolean => actor === 'owner' || (actor === 'admin' && target !== 'owner')
/** The role billing spends the owner's money, so only owners give it. */
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

  it('neither leaves nor is made something else', () => {
    expect(refuseRemoval(last, true)?.code).toBe('CONFLICT')
    for (const to of roles) expect(refuseRoleChange(last, to)?.code).toBe(to === 'owner' ? undefined : 'CONFLICT')
  })
})

it.each(pairs)('an invitation by $actor as $target', ({ actor, target: to }) => {
  expect(refuseInvitation(actor, to)?.code).toBe(gives(actor, to) ? undefined : 'AUTH_FORBIDDEN')
})

it.each(['admin', 'billing', 'member'] as const)(
  'a member with the role %s raises it not even by themselves',
  (own) => {
    const allowed = roles.filter(
      (to) => refuseRoleChange({ actor: own, target: own, otherOwners: 1 }, to) === undefined,
    )
    expect(allowed).toEqual(own === 'admin' ? ['admin', 'member'] : [])
  },
)

it.each(roles.filter((role) => role !== 'owner'))('a %s leaves freely', (role) => {
  expect(refuseRemoval({ actor: role, target: role, otherOwners: 1 }, true)).toBeUndefined()
})
