import type { Case } from './case.ts'

const up = (process: string) => `matte_build_info{process="${process}",version="1.2.3"}`
const errors = (dependency: string, reason: string) =>
  `matte_dependency_errors_total{dependency="${dependency}",reason="${reason}"}`
const natsOf = (pod: string) => `matte_nats_connected{process="api",pod="${pod}"}`
const claims = 'matte_claim_failures_total{kind="task"}'
const waiting = (pod: string) => `matte_database_pool_waiting{process="api",pod="${pod}"}`

const due = 'matte_deliveries_due{process="api"}'
const missingText =
  'For 15 minutes no replica of the API has reported one of waiting tasks, due webhooks, retention and broken rules. ' +
  'The alerts on it are blind meanwhile.'
const queued = 'matte_tasks_queued{process="api",model_version="u2netp"}'
const lag = 'matte_retention_lag_seconds{process="api",what="objects"}'
const broken = 'matte_invariant_violations{process="api",invariant="ledger_balance"}'

const absentText = (process: string) =>
  `Prometheus reads metrics of no replica of the process ${process}: none runs, or none can be reached.`

const unreachable = [
  {
    alert: 'MatteDatabaseUnreachable',
    dependency: 'database',
    description:
      '4 connections to PostgreSQL failed in 2 minutes. The API answers 500 with Retry-After; nothing that was ' +
      'accepted is lost.',
  },
  {
    alert: 'MatteStoreUnreachable',
    dependency: 'store',
    description:
      '4 requests to the object store failed in 2 minutes. Uploads and creations are answered 503; accepted tasks ' +
      'wait without spending attempts.',
  },
].flatMap(({ alert, dependency, description }): readonly Case[] => [
  {
    alert,
    when: 'it cannot be reached',
    series: { [errors(dependency, 'unreachable')]: '0+2x10' },
    at: '4m',
    fires: [{ severity: 'critical', description }],
  },
  {
    alert,
    when: 'one and a half connections a minute fail',
    series: { [errors(dependency, 'timeout')]: '0+1.5x20' },
    at: '12m',
    fires: [],
  },
  {
    alert,
    when: 'it is away for less than a minute',
    series: { [errors(dependency, 'unreachable')]: '0 0 0 9x10' },
    at: '3m',
    fires: [],
  },
  {
    alert,
    when: 'something else cannot be reached',
    series: { [errors('triton', 'unreachable')]: '0+9x10', [errors('kubernetes', 'unreachable')]: '0+9x10' },
    at: '9m',
    fires: [],
  },
])

const connections: readonly Case[] = [
  {
    alert: 'MatteNatsDisconnected',
    when: 'one of two replicas has no connection',
    series: { [natsOf('a')]: '0x20', [natsOf('b')]: '1x20' },
    at: '10m',
    fires: [
      {
        severity: 'warning',
        process: 'api',
        description:
          'A replica of the process api has had no connection to NATS for 10 minutes. Tasks and webhooks start up to ' +
          'a second later than usual.',
      },
    ],
  },
  {
    alert: 'MatteNatsDisconnected',
    when: 'NATS is away for nine minutes',
    series: { [natsOf('a')]: '0x9 1x10' },
    at: '9m',
    fires: [],
  },
  {
    alert: 'MatteDatabasePoolSaturated',
    when: 'more than one waits for a connection all the time',
    series: { [waiting('a')]: '2x20', [waiting('b')]: '0x20' },
    at: '6m',
    fires: [
      {
        severity: 'warning',
        process: 'api',
        pod: 'a',
        description:
          'In the api a, 2 statements on average wait for one of its connections; 1 is the limit. Answers become ' +
          'slow, and the API refuses requests soon.',
      },
    ],
  },
  {
    alert: 'MatteDatabasePoolSaturated',
    when: 'one waits all the time',
    series: { [waiting('a')]: '1x20' },
    at: '15m',
    fires: [],
  },
  {
    alert: 'MatteDatabasePoolSaturated',
    when: 'a burst waits for three minutes',
    series: { [waiting('a')]: '0x9 2x3 0x20' },
    at: '14m',
    fires: [],
  },
]

const certificates: readonly Case[] = [
  {
    alert: 'MatteCertificateFailing',
    when: 'the certificate of the database is refused',
    series: { [errors('database', 'certificate')]: '0+1x10' },
    at: '10m',
    fires: [
      {
        severity: 'critical',
        dependency: 'database',
        description:
          'The certificate of database was refused 10 times in 10 minutes: it has expired, names another host or is ' +
          'signed by an authority that is not trusted.',
      },
    ],
  },
  {
    alert: 'MatteCertificateFailing',
    when: 'certificates were refused eleven minutes ago, and the database is away now',
    series: { [errors('database', 'certificate')]: '0 1x20', [errors('database', 'unreachable')]: '0+5x20' },
    at: '13m',
    fires: [],
  },
]

const readings: readonly Case[] = [
  {
    alert: 'MatteReadingsMissing',
    when: 'the API runs and reads nothing',
    series: { [up('api')]: '1x20', [queued]: '0x20', [lag]: '0x20', [broken]: '0x20' },
    at: '15m',
    fires: [
      {
        severity: 'warning',
        description: missingText,
      },
    ],
  },
  {
    alert: 'MatteReadingsMissing',
    when: 'broken rules are not read',
    series: { [up('api')]: '1x20', [queued]: '0x20', [lag]: '0x20', [due]: '0x20' },
    at: '15m',
    fires: [
      {
        severity: 'warning',
        description: missingText,
      },
    ],
  },
  {
    alert: 'MatteReadingsMissing',
    when: 'the queue alone is not read',
    series: { [up('api')]: '1x20', [lag]: '0x20', [broken]: '0x20', [due]: '0x20' },
    at: '15m',
    fires: [{ severity: 'warning', description: missingText }],
  },
  {
    alert: 'MatteReadingsMissing',
    when: 'retention alone is not read',
    series: { [up('api')]: '1x20', [queued]: '0x20', [broken]: '0x20', [due]: '0x20' },
    at: '15m',
    fires: [{ severity: 'warning', description: missingText }],
  },
  {
    alert: 'MatteReadingsMissing',
    when: 'the database is away for ten minutes',
    series: {
      [up('api')]: '1x30',
      ...{ [queued]: '0x5 stale _x9 0x15', [due]: '0x5 stale _x9 0x15' },
      ...{ [lag]: '0x30', [broken]: '0x30' },
    },
    at: '14m',
    fires: [],
  },
  {
    alert: 'MatteReadingsMissing',
    when: 'no API runs, which another alert says',
    series: { [up('worker')]: '1x30' },
    at: '25m',
    fires: [],
  },
]

const allUp = (values: string): Readonly<Record<string, string>> =>
  Object.fromEntries(['api', 'worker', 'operator', 'dispatcher'].map((process) => [up(process), values]))

export const dependencyCases: readonly Case[] = [
  ...unreachable,
  ...readings,
  ...connections,
  ...certificates,
  {
    alert: 'MatteProcessAbsent',
    when: 'no dispatcher is there',
    series: { [up('api')]: '1x10', [up('worker')]: '1x10', [up('operator')]: '1x10' },
    at: '5m',
    fires: [{ severity: 'critical', process: 'dispatcher', description: absentText('dispatcher') }],
  },
  {
    alert: 'MatteProcessAbsent',
    when: 'nothing is there, though another installation is',
    series: { 'matte_build_info{namespace="elsewhere",process="api"}': '1x10' },
    at: '5m',
    fires: ['api', 'worker', 'operator', 'dispatcher'].map((process) => ({
      severity: 'critical',
      process,
      description: absentText(process),
    })),
  },
  {
    alert: 'MatteProcessAbsent',
    when: 'one replica of each is there',
    series: allUp('1x10'),
    at: '9m',
    fires: [],
  },
  {
    alert: 'MatteProcessAbsent',
    when: 'the only dispatcher is replaced within four minutes',
    series: { ...allUp('1x20'), [up('dispatcher')]: '1x5 stale _x3 1x9' },
    at: '9m',
    fires: [],
  },
  {
    alert: 'MatteClaimsFailing',
    when: 'claims fail all the time',
    series: { [claims]: '0+2x20' },
    at: '10m',
    fires: [
      {
        severity: 'warning',
        kind: 'task',
        description:
          '10 rounds of claims (task) failed in 5 minutes; 5 is the limit. While all of them fail, no task is ' +
          'started or no webhook sent.',
      },
    ],
  },
  {
    alert: 'MatteClaimsFailing',
    when: 'one a minute fails',
    series: { [claims]: '0+1x20' },
    at: '15m',
    fires: [],
  },
  {
    alert: 'MatteClaimsFailing',
    when: 'twenty fail in a minute, once',
    series: { [claims]: '0x10 20x20' },
    at: '14m',
    fires: [],
  },
]
