import type { Case } from './case.ts'

const closed = (pod: string) => `matte_pool_closed{pool="demo",pod="${pod}"}`
const passes = (outcome: string) => `matte_reconcile_total{queue="pools",outcome="${outcome}",pod="a"}`
const restarts = (reason: string, pod: string) =>
  `matte_kube_watch_restarts_total{resource="pods",reason="${reason}",pod="${pod}"}`
const failingText = (count: number): string =>
  `${count} reconcile passes failed in the last 5 minutes. The affected pools are scaled and repaired late or ` +
  'not at all.'

export const operatorCases: readonly Case[] = [
  {
    alert: 'MattePoolClosed',
    when: 'a pool is closed',
    series: { [closed('a')]: '1x10' },
    at: '5m',
    fires: [
      {
        severity: 'warning',
        pool: 'demo',
        description:
          'Kubernetes rejects the fencing token of the leader for pool demo, so the operator neither scales nor repairs ' +
          'it. Its pods keep serving.',
      },
    ],
  },
  {
    alert: 'MattePoolClosed',
    when: 'a pool is closed and its leader changes',
    series: { [closed('a')]: '1 1 _x10', [closed('b')]: '_ _ 1x10' },
    at: '8m',
    fires: [
      {
        severity: 'warning',
        pool: 'demo',
        description:
          'Kubernetes rejects the fencing token of the leader for pool demo, so the operator neither scales nor repairs ' +
          'it. Its pods keep serving.',
      },
    ],
  },
  {
    alert: 'MattePoolClosed',
    when: 'the token is written after four minutes',
    series: { [closed('a')]: '1x4 0x10' },
    at: '5m',
    fires: [],
  },
  {
    alert: 'MatteReconcileFailing',
    when: 'one pool fails in every pass',
    series: { [passes('failed')]: '0+3x30', [passes('requeued')]: '0+600x30' },
    at: '20m',
    fires: [
      {
        severity: 'warning',
        description: failingText(15),
      },
    ],
  },
  {
    alert: 'MatteReconcileFailing',
    when: 'passes take too long',
    series: { [passes('timeout')]: '0+1x30' },
    at: '20m',
    fires: [
      {
        severity: 'warning',
        description: failingText(5),
      },
    ],
  },
  {
    alert: 'MatteReconcileFailing',
    when: 'all passes fail for five minutes',
    series: { [passes('failed')]: '0x5 0+60x5 300x20' },
    at: '14m',
    fires: [],
  },
  {
    alert: 'MatteReconcileFailing',
    when: 'passes end with conflicts',
    series: { [passes('conflict')]: '0+60x30', [passes('failed')]: '0x30' },
    at: '20m',
    fires: [],
  },
  {
    alert: 'MatteWatchRestarting',
    when: 'a watch of one process is rejected repeatedly',
    series: { [restarts('refused', 'a')]: '0+8x60', [restarts('refused', 'b')]: '0x60' },
    at: '40m',
    fires: [
      {
        severity: 'warning',
        resource: 'pods',
        reason: 'refused',
        description:
          'A process restarted its watch of pods 120 times in 15 minutes (reason: refused). It notices changes late.',
      },
    ],
  },
  {
    alert: 'MatteWatchRestarting',
    when: 'watches end at their time limit, or restart every 90 s without bookmarks',
    series: { [restarts('ended', 'a')]: '0+8x60', [restarts('idle', 'a')]: '0+0.66x60' },
    at: '40m',
    fires: [],
  },
  {
    alert: 'MatteWatchRestarting',
    when: 'a restart of the API server cuts the watches of many processes once',
    series: Object.fromEntries(Array.from({ length: 30 }, (_, n) => [restarts('cut', `p${n}`), '0x20 1x40'])),
    at: '40m',
    fires: [],
  },
]
