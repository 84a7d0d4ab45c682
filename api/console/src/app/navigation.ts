// Entries of the navigation, by what the session may see.
import type { LinkProps } from '@tanstack/react-router'
import type { Session } from '../session/session.ts'
import type { ConsoleSettings } from '../settings.ts'
import type { shellText } from './shell-text.ts'

type Name = keyof (typeof shellText)['en']['navigation']

export type Entry = { readonly to: NonNullable<LinkProps['to']>; readonly name: Name }
export type Group = { readonly name: Name | undefined; readonly entries: readonly Entry[] }

const admins = ['owner', 'admin']
const payers = ['owner', 'billing']

export function navigationOf(session: Session, settings: ConsoleSettings | undefined): readonly Group[] {
  const isMember = session.kind === 'member'
  const hasRole = (roles: readonly string[]): boolean => isMember && roles.includes(session.role)
  const isOpen = session.kind !== 'operator'
  const groups: readonly (readonly [Name | undefined, readonly (readonly [boolean, Entry])[]])[] = [
    [
      undefined,
      [
        [isOpen, { to: '/', name: 'playground' }],
        [isOpen, { to: '/gallery', name: 'gallery' }],
        [isOpen, { to: '/batches', name: 'batches' }],
      ],
    ],
    [
      'build',
      [
        [hasRole(admins) || session.kind === 'key', { to: '/webhooks', name: 'webhooks' }],
        [hasRole(admins), { to: '/keys', name: 'keys' }],
        [hasRole(admins) || session.kind === 'key', { to: '/usage', name: 'usage' }],
      ],
    ],
    [
      'workspace',
      [
        [isMember, { to: '/credits', name: 'credits' }],
        [hasRole(payers) && settings?.payments !== 'none', { to: '/billing', name: 'billing' }],
        [isMember, { to: '/team', name: 'team' }],
      ],
    ],
    [
      'operate',
      [
        [session.kind === 'operator', { to: '/operator', name: 'overview' }],
        [session.kind === 'operator', { to: '/operator/pools', name: 'pools' }],
        [session.kind === 'operator', { to: '/operator/load', name: 'load' }],
        [session.kind === 'operator', { to: '/operator/health', name: 'health' }],
      ],
    ],
  ]
  return groups
    .map(([name, entries]) => ({ name, entries: entries.filter(([isShown]) => isShown).map(([, entry]) => entry) }))
    .filter(({ entries }) => entries.length > 0)
}
