import { describe, expect, it } from 'vitest'
import { type Destination, mayReach, type NetworkPolicy } from './egress-rules.ts'

const api = { app: 'api' }
const policy = (...egress: NonNullable<NetworkPolicy['spec']['egress']>): NetworkPolicy => ({
  spec: { podSelector: { matchLabels: api }, policyTypes: ['Egress'], egress },
})

const table: readonly (readonly [string, NetworkPolicy[], Destination, boolean])[] = [
  ['no policy of the pod', [], { address: '192.0.2.1', port: 1 }, true],
  ['a policy without rules', [policy()], { address: '192.0.2.1', port: 1 }, false],
  ['a rule without peers and ports', [policy({})], { address: '192.0.2.1', port: 1 }, true],
  ['a port of a rule', [policy({ ports: [{ port: 1 }] })], { pod: {}, port: 1 }, true],
  ['another port', [policy({ ports: [{ port: 1 }] })], { pod: {}, port: 2 }, false],
  ['another protocol', [policy({ ports: [{ port: 1 }] })], { pod: {}, port: 1, protocol: 'UDP' }, false],
  [
    'an address of a CIDR',
    [policy({ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] })],
    { address: '10.9.9.9', port: 1 },
    true,
  ],
  [
    'an address beside it',
    [policy({ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] })],
    { address: '11.0.0.1', port: 1 },
    false,
  ],
  [
    'an exception',
    [policy({ to: [{ ipBlock: { cidr: '0.0.0.0/0', except: ['10.0.0.0/8'] } }] })],
    { address: '10.1.1.1', port: 1 },
    false,
  ],
  ['a pod, by a CIDR', [policy({ to: [{ ipBlock: { cidr: '0.0.0.0/0' } }] })], { pod: {}, port: 1 }, false],
  [
    'IPv6 by a CIDR of IPv4',
    [policy({ to: [{ ipBlock: { cidr: '0.0.0.0/0' } }] })],
    { address: '2001:db8::1', port: 1 },
    false,
  ],
  ['IPv6', [policy({ to: [{ ipBlock: { cidr: '2001:db8::/32' } }] })], { address: '2001:db8::1', port: 1 }, true],
  [
    'a pod of the namespace',
    [policy({ to: [{ podSelector: { matchLabels: { a: 'b' } } }] })],
    { pod: { a: 'b' }, port: 1 },
    true,
  ],
  [
    'the same labels elsewhere',
    [policy({ to: [{ podSelector: { matchLabels: { a: 'b' } } }] })],
    { pod: { a: 'b' }, namespace: { name: 'other' }, port: 1 },
    false,
  ],
  [
    'a namespace by its labels',
    [policy({ to: [{ namespaceSelector: { matchLabels: { name: 'other' } } }] })],
    { pod: {}, namespace: { name: 'other' }, port: 1 },
    true,
  ],
  ...(['Exists', 'DoesNotExist'] as const).flatMap((operator): (typeof table)[number][] => {
    const rule = policy({ to: [{ podSelector: { matchExpressions: [{ key: 'a', operator }] } }] })
    return [
      [`a pod with the label, by ${operator}`, [rule], { pod: { a: 'b' }, port: 1 }, operator === 'Exists'],
      [`a pod without the label, by ${operator}`, [rule], { pod: {}, port: 1 }, operator === 'DoesNotExist'],
    ]
  }),
  [
    'a pod whose label has a value of the list',
    [policy({ to: [{ podSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] } }] })],
    { pod: { a: 'b' }, port: 1 },
    true,
  ],
  [
    'a pod whose label has another value',
    [policy({ to: [{ podSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] } }] })],
    { pod: { a: 'c' }, port: 1 },
    false,
  ],
  ['a second policy', [policy(), policy({ ports: [{ port: 1 }] })], { pod: {}, port: 1 }, true],
]

describe('mayReach', () => {
  it.each(table)('%s', (_name, policies, destination, expected) => {
    expect(mayReach(policies, api, destination)).toBe(expected)
  })
})
