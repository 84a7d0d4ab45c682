import type { Case } from './case.ts'

const degraded = 'matte_pool_condition{pool="demo",condition="Degraded"}'
const replicas = (state: string) => `matte_pool_replicas{pool="demo",state="${state}"}`
const backlog = 'matte_pool_demand{pool="demo",term="backlog"}'
const maximum = 'matte_pool_replicas_limit{pool="demo",bound="max"}'
const rolledBack = 'matte_pool_condition{pool="demo",condition="RolledBack"}'
const leader = (pod: string) => `matte_leader{pod="${pod}"}`

const degradedText =
  'Something is wrong with the pool demo that does not go away by itself; its condition Degraded says ' +
  'what and what to do.'

const leading: readonly Case[] = [
  {
    alert: 'MatteNoLeader',
    when: 'no replica leads',
    series: { [leader('a')]: '0x10', [leader('b')]: '0x10' },
    at: '5m',
    fires: [
      {
        severity: 'warning',
        description:
          'No operator holds the Lease, so nobody scales or repairs pools. Tasks go on with the pods that there ' +
          'are; a pool at zero stays there.',
      },
    ],
  },
  {
    alert: 'MatteNoLeader',
    when: 'one leads and another follows',
    series: { [leader('a')]: '1x10', [leader('b')]: '0x10' },
    at: '9m',
    fires: [],
  },
  {
    alert: 'MatteNoLeader',
    when: 'the lead changes hands in four minutes',
    series: { [leader('a')]: '1 0x10', [leader('b')]: '0x5 1x10' },
    at: '5m',
    fires: [],
  },
  {
    alert: 'MatteTwoLeaders',
    when: 'two replicas believe that they lead',
    series: { [leader('a')]: '1x10', [leader('b')]: '1x10' },
    at: '5m',
    fires: [
      {
        severity: 'warning',
        description:
          '2 operators believe that they lead. Writes of all but the last one are refused by their fencing tokens, ' +
          'so nothing is damaged.',
      },
    ],
  },
  {
    alert: 'MatteTwoLeaders',
    when: 'one leads',
    series: { [leader('a')]: '1x10', [leader('b')]: '0x10' },
    at: '9m',
    fires: [],
  },
  {
    alert: 'MatteTwoLeaders',
    when: 'a former leader learns it after four minutes',
    series: { [leader('a')]: '1x4 0x10', [leader('b')]: '0 1x10' },
    at: '4m',
    fires: [],
  },
  {
    alert: 'MatteTwoLeaders',
    when: 'each of two installations has its leader',
    series: { [leader('a')]: '1x10', 'matte_leader{namespace="elsewhere",pod="b"}': '1x10' },
    at: '9m',
    fires: [],
  },
]

const rollbacks: readonly Case[] = [
  {
    alert: 'MattePoolRolledBack',
    when: 'the revision of spec was rolled back',
    series: { [rolledBack]: '0x5 1x30' },
    at: '12m',
    fires: [
      {
        severity: 'warning',
        pool: 'demo',
        description:
          'The pool demo tried the revision in its spec and rolled it back; the revision before it serves. Its ' +
          'condition RolledBack says what failed.',
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
    when: 'the lead changes hands after a rollback',
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
          'The pool demo tried the revision in its spec and rolled it back; the revision before it serves. Its ' +
          'condition RolledBack says what failed.',
      },
    ],
  },
]

export const poolCases: readonly Case[] = [
  ...leading,
  ...rollbacks,
  {
    alert: 'MattePoolDegraded',
    when: 'a pool is degraded and none of its pods is ready',
    series: { [degraded]: '1x30', [replicas('ready')]: '0x30', [replicas('desired')]: '1x30' },
    at: '12m',
    fires: [
      {
        severity: 'critical',
        pool: 'demo',
        description:
          'The pool demo is Degraded and none of its pods is ready. Tasks of its models wait; after 24 hours ' +
          'they fail.',
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
        description:
          'The pool demo has as many pods as scaling.maxReplicas allows; 56 tasks wait for it, more than 10 ' +
          'minutes ago.',
      },
    ],
  },
  {
    alert: 'MattePoolAtMax',
    when: 'its queue stays as long as it is',
    series: { [backlog]: '80x40', [replicas('desired')]: '2x40', [maximum]: '2x40' },
    at: '30m',
    fires: [],
  },
  {
    alert: 'MattePoolAtMax',
    when: 'the queue grows and the pool may still grow as well',
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
