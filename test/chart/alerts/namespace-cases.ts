import type { Case } from './case.ts'

const readable = (pod: string, namespace: string) =>
  `matte_kube_namespace_readable{pod="${pod}",watched_namespace="${namespace}"}`

export const namespaceCases: readonly Case[] = [
  {
    alert: 'MatteNamespaceUnreadable',
    when: 'one process may not read a namespace',
    series: {
      [readable('operator', 'team-a')]: '0x20',
      [readable('worker', 'team-a')]: '1x20',
      [readable('operator', 'team-b')]: '1x20',
    },
    at: '16m',
    fires: [
      {
        severity: 'warning',
        watched_namespace: 'team-a',
        description:
          'The pools in namespace team-a are neither scaled nor repaired. Requests go to their last known pods until ' +
          'the worker restarts.',
      },
    ],
  },
  {
    alert: 'MatteNamespaceUnreadable',
    when: 'it is read again after ten minutes',
    series: { [readable('operator', 'team-a')]: '0x10 1x10' },
    at: '16m',
    fires: [],
  },
]
