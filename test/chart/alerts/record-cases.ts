import type { Case } from './case.ts'

const broken = (invariant: string) => `matte_invariant_violations{process="api",invariant="${invariant}"}`
const lag = 'matte_retention_lag_seconds{process="api",what="task"}'

export const recordCases: readonly Case[] = [
  {
    alert: 'MatteInvariantBroken',
    when: 'two tasks were charged twice',
    series: { [broken('charged_twice')]: '2x5', [broken('ledger_balance')]: '0x5' },
    at: '1m',
    fires: [
      {
        severity: 'critical',
        invariant: 'charged_twice',
        description:
          '2 rows violate the invariant charged_twice: a caller may have been charged wrongly, or an effect has ' +
          'happened twice.',
      },
    ],
  },
  {
    alert: 'MatteInvariantBroken',
    when: 'all invariants hold',
    series: { [broken('charged_twice')]: '0x9', [broken('ledger_balance')]: '0x9', [broken('delivered_twice')]: '0x9' },
    at: '9m',
    fires: [],
  },
  {
    alert: 'MatteRetentionLate',
    when: 'a task has been due for longer than six hours',
    series: { [lag]: '21601x20' },
    at: '15m',
    fires: [
      {
        severity: 'warning',
        what: 'task',
        description:
          'The deletion of the oldest task is overdue by 6h 0m 1s; the limit is 6h 0m 0s. Images are kept longer ' +
          'than promised.',
      },
    ],
  },
  {
    alert: 'MatteRetentionLate',
    when: 'it has been due for exactly six hours',
    series: { [lag]: '21600x30' },
    at: '25m',
    fires: [],
  },
  {
    alert: 'MatteRetentionLate',
    when: 'the sweep catches up within fourteen minutes',
    series: { [lag]: '30000x14 0x9' },
    at: '14m',
    fires: [],
  },
]
