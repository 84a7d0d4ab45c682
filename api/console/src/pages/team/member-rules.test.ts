import { expect, test } from 'vitest'
import { canRemove, inviteRoles, losesKeys, parseLimit, rolesFor } from './member-rules.ts'

test('an owner gives every role, an admin neither owner nor billing', () => {
  expect(rolesFor({ actor: 'owner', target: 'member', owners: 1 })).toEqual(['owner', 'admin', 'billing', 'member'])
  expect(rolesFor({ actor: 'admin', target: 'member', owners: 1 })).toEqual(['admin', 'member'])
  expect(inviteRoles('admin')).not.toContain('billing')
})

test('an admin can take the role billing, but not the role owner', () => {
  expect(rolesFor({ actor: 'admin', target: 'billing', owners: 1 })).toEqual(['admin', 'billing', 'member'])
  expect(rolesFor({ actor: 'admin', target: 'owner', owners: 2 })).toEqual(['owner'])
})

test('the last owner stays', () => {
  expect(rolesFor({ actor: 'owner', target: 'owner', owners: 1 })).toEqual(['owner'])
  expect(canRemove({ actor: 'owner', target: 'owner', owners: 1 }, true)).toBe(false)
  expect(canRemove({ actor: 'owner', target: 'owner', owners: 2 }, true)).toBe(true)
})

test('every other member may leave, and owners and admins remove', () => {
  expect(canRemove({ actor: 'member', target: 'member', owners: 1 }, true)).toBe(true)
  expect(canRemove({ actor: 'member', target: 'member', owners: 1 }, false)).toBe(false)
  expect(canRemove({ actor: 'admin', target: 'billing', owners: 1 }, false)).toBe(true)
})

test('keys end with the role of owner or admin', () => {
  expect(losesKeys('admin', 'member')).toBe(true)
  expect(losesKeys('owner', 'admin')).toBe(false)
})

test('a limit is a whole number or nothing', () => {
  expect(parseLimit(' 250 ')).toBe(250)
  expect(parseLimit('')).toBeNull()
  expect(parseLimit('2.5')).toBeUndefined()
  expect(parseLimit('-1')).toBeUndefined()
})
