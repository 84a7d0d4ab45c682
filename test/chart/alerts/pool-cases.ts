import type { Case } from './case.ts'

const degraded = 'matte_pool_condition{pool="demo",condition="Degraded"}'
const replicas = (state: string) => `matte_pool_replicas{pool="demo",state="${state}"}`
const backlog = 'matte_pool_demand{pool="demo",term="backlog"}'
const maximum = 'matte_pool_replicas_limit{pool="demo",bound="max"}'
const rolledBack = 'matte_pool_condition{pool="demo",condition="RolledBack"}'
const leader = (pod: string) => `matte_leader{pod="${pod}"}`

const degradedText =
  'Pool demo has a problem that does not resolve by itself. Its condition Degraded names the problem and the remedy.'

const leading: readonly Case[] = [
  {
    alert: 'MatteNoLeader',
    when: 'no replica is leader',
    series: { [leader('a')]: '0x10', [leader('b')]: '0x10' },
    at: '5m',
    fires: [
      {
        severity: 'warning',
        description:
          'No operator holds the Lease, so pools are neither scaled nor repaired. Existing pods serve tasks; a pool ' +
          'at zero stays at zero.',
      },
    ],
  },
  {
    alert: 'MatteNoLeader',
    when: 'one replica is leader',
    series: { [leader('a')]: '1x10', [leader('b')]: '0x10' },
    at: '9m',
    fires: [],
  },
  {
    alert: 'MatteNoLeader',
    when: 'the leader changes within four minutes',
    series: { [leader('a')]: '1 0x10', [leader('b')]: '0x5 1x10' },
    at: '5m',
    fires: [],
  },
  {
    alert: 'MatteTwoLeaders',
    when: 'two replicas act as leader',
    series: { [leader('a')]: '1x10', [leader('b')]: '1x10' },
    at: '5m',
    fires: [
      {
        severity: 'warning',
        description:
          '2 operators act as leader. Kubernetes rejects the writes of all but the latest by fencing tokens, so no ' +
          'pool is damaged.',
      },
    ],
  },
  {
    alert: 'MatteTwoLeaders',
    when: 'exactly one is leader',
    series: { [leader('a')]: '1x10', [leader('b')]: '0x10' },
    at: '9m',
    fires: [],
  },
  {
    alert: 'MatteTwoLeaders',
    when: 'a previous leader stops after four minutes',
    series: { [leader('a')]: '1x4 0x10', [leader('b')]: '0 1x10' },
    at: '4m',
    fires: [],
  },
  {
    alert: 'MatteTwoLeaders',
    when: 'each of two installations has a leader',
    series: { [leader('a')]: '1x10', 'matte_leader{namespace="elsewhere",pod="b"}': '1x10' },
    at: '9m',
    fires: [],
  },
]

const rollbacks: readonly Case[] = [
  {
    alert: 'MattePoolRolledBack',
    when: "the spec's revision was rolled back",
    series: { [rolledBack]: '0x5 1x30' },
    at: '12m',
    fires: [
      {
        severity: 'warning',
        pool: 'demo',
        description:
          'Pool demo tried the revision in its spec and rolled it back; the previous revision serves. Its condition ' +
          'RolledBack names the failure.',
      },
    ],
  },
  {
    alert: 'MattePoolRolledBack',
    when: 'spec is corrected within four minutes',
    series: { [rolledBack]: '0x5 1x4 0x30' },
    at: '12m',
    fires: [],
  },
  {
    alert: 'MattePoolRolledBack',
    when: 'the leader changes after a rollback',
    series: {
      'matte_pool_condition{pool="demo",condition="RolledBack",pod="a"}': '0x5 1x5 _x20',
      'matte_pool_condition{pool="demo",condition="RolledBack",pod="b"}': '_x10 1x20',
    },
    at: '15m',
    fires: [
      {
        severity: 'warning',
        pool: 'demo',
        description:
          'Pool demo tried the revision in its spec and rolled it back; the previous revision serves. Its condition ' +
          'RolledBack names the failure.',
      },
    ],
  },
]

export const poolCases: readonly Case[] = [
  ...leading,
  ...rollbacks,
  {
    alert: 'MattePoolDegraded',
    when: 'a pool is degraded without a ready pod',
    series: { [degraded]: '1x30', [replicas('ready')]: '0x30', [replicas('desired')]: '1x30' },
    at: '12m',
    fires: [
      {
        severity: 'critical',
        pool: 'demo',
        description: 'Pool demo is Degraded and has no ready pod. Tasks of its models wait and fail after 24 hours.',
      },
    ],
  },
  {
    alert: 'MattePoolDegraded',
    when: 'a pool is degraded and still serves',
    series: { [degraded]: '1x30', [replicas('ready')]: '1x30', [replicas('desired')]: '2x30' },
    at: '16m',
    fires: [{ severity: 'warning', pool: 'demo', description: degradedText }],
  },
  {
    alert: 'MattePoolDegraded',
    when: 'its pods start and nothing is wrong',
    series: { [degraded]: '0x30', [replicas('ready')]: '0x30', [replicas('desired')]: '1x30' },
    at: '25m',
    fires: [],
  },
  {
    alert: 'MattePoolDegraded',
    when: 'a pool is degraded for nine minutes',
    series: { [degraded]: '1x9 0x20', [replicas('ready')]: '0x30', [replicas('desired')]: '1x30' },
    at: '11m',
    fires: [],
  },
  {
    alert: 'MattePoolAtMax',
    when: 'a pool is at its maximum and its queue grows',
    series: { [backlog]: '0+2x40', [replicas('desired')]: '2x40', [maximum]: '2x40' },
    at: '30m',
    fires: [
      {
        severity: 'warning',
        pool: 'demo',
        description: 'Pool demo is at scaling.maxReplicas; 56 tasks wait for it, more than 10 minutes ago.',
      },
    ],
  },
  {
    alert: 'MattePoolAtMax',
    when: 'its queue is constant',
    series: { [backlog]: '80x40', [replicas('desired')]: '2x40', [maximum]: '2x40' },
    at: '30m',
    fires: [],
  },
  {
    alert: 'MattePoolAtMax',
    when: 'the queue grows below the maximum size',
    series: { [backlog]: '0+2x40', [replicas('desired')]: '1x40', [maximum]: '2x40' },
    at: '30m',
    fires: [],
  },
  {
    alert: 'MattePoolAtMax',
    when: 'the queue grows for five minutes',
    series: { [backlog]: '0x20 0+2x5 10x20', [replicas('desired')]: '2x50', [maximum]: '2x50' },
    at: '28m',
    fires: [],
  },
]
