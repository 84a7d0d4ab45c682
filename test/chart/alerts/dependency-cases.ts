import type { Case } from './case.ts'

const up = (process: string) => `matte_build_info{process="${process}",version="1.2.3"}`
const errors = (dependency: string, reason: string) =>
  `matte_dependency_errors_total{dependency="${dependency}",reason="${reason}"}`
const natsOf = (pod: string) => `matte_nats_connected{process="api",pod="${pod}"}`
const claims = 'matte_claim_failures_total{kind="task"}'
const waiting = (pod: string) => `matte_database_pool_waiting{process="api",pod="${pod}"}`

const due = 'matte_deliveries_due{process="api"}'
const missingText =
  'For 15 minutes no replica of the API has reported one of: queued tasks, due webhooks, retention, invariants. The ' +
  'alerts on it cannot fire.'
const queued = 'matte_tasks_queued{process="api",model_version="u2netp"}'
const lag = 'matte_retention_lag_seconds{process="api",what="objects"}'
const broken = 'matte_invariant_violations{process="api",invariant="ledger_balance"}'

const absentText = (process: string) =>
  `Prometheus has no metrics from any replica of the process ${process}: none is running, or none is reachable.`

const unreachable = [
  {
    alert: 'MatteDatabaseUnreachable',
    dependency: 'database',
    description:
      '4 connections to PostgreSQL failed in 2 minutes. The API returns 500 with Retry-After; accepted tasks are not ' +
      'lost.',
  },
  {
    alert: 'MatteStoreUnreachable',
    dependency: 'store',
    description:
      '4 requests to the object store failed in 2 minutes. Uploads and new tasks get 503; accepted tasks wait ' +
      'without using up attempts.',
  },
].flatMap(({ alert, dependency, description }): readonly Case[] => [
  {
    alert,
    when: 'it is unreachable',
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
    when: 'it is down for less than a minute',
    series: { [errors(dependency, 'unreachable')]: '0 0 0 9x10' },
    at: '3m',
    fires: [],
  },
  {
    alert,
    when: 'another dependency is unreachable',
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
    when: 'NATS is down for nine minutes',
    series: { [natsOf('a')]: '0x9 1x10' },
    at: '9m',
    fires: [],
  },
  {
    alert: 'MatteDatabasePoolSaturated',
    when: 'more than one statement waits for a connection continuously',
    series: { [waiting('a')]: '2x20', [waiting('b')]: '0x20' },
    at: '6m',
    fires: [
      {
        severity: 'warning',
        process: 'api',
        pod: 'a',
        description:
          'In pod a (api), 2 statements on average wait for a connection; the limit is 1. Responses become slow, and ' +
          'the API starts to reject requests.',
      },
    ],
  },
  {
    alert: 'MatteDatabasePoolSaturated',
    when: 'one statement waits continuously',
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
    when: 'the certificate of the database is rejected',
    series: { [errors('database', 'certificate')]: '0+1x10' },
    at: '10m',
    fires: [
      {
        severity: 'critical',
        dependency: 'database',
        description:
          'The certificate of database was rejected 10 times in 10 minutes: it has expired, names another host, or ' +
          'has an untrusted issuer.',
      },
    ],
  },
  {
    alert: 'MatteCertificateFailing',
    when: 'certificates were rejected eleven minutes ago, and the database is down now',
    series: { [errors('database', 'certificate')]: '0 1x20', [errors('database', 'unreachable')]: '0+5x20' },
    at: '13m',
    fires: [],
  },
]

const keyReads = (outcome: string): string =>
  `matte_master_keys_reads_total{process="api",pod="a",outcome="${outcome}"}`

const masterKeys: readonly Case[] = [
  {
    alert: 'MatteMasterKeysRejected',
    when: 'a replaced file stays invalid',
    series: { [keyReads('rejected')]: '0x2 0+12x20' },
    at: '12m',
    fires: [
      {
        severity: 'warning',
        process: 'api',
        pod: 'a',
        description:
          'a (api) has found no valid keys in MASTER_KEYS_FILE for five minutes. It uses the previous keys, and would ' +
          'not start again.',
      },
    ],
  },
  {
    alert: 'MatteMasterKeysRejected',
    when: 'keys were rotated',
    series: { [keyReads('accepted')]: '0x2 1x20', [keyReads('rejected')]: '0x22' },
    at: '12m',
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
    when: 'invariants are not read',
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
    when: 'only the queue is not read',
    series: { [up('api')]: '1x20', [lag]: '0x20', [broken]: '0x20', [due]: '0x20' },
    at: '15m',
    fires: [{ severity: 'warning', description: missingText }],
  },
  {
    alert: 'MatteReadingsMissing',
    when: 'only retention is not read',
    series: { [up('api')]: '1x20', [queued]: '0x20', [broken]: '0x20', [due]: '0x20' },
    at: '15m',
    fires: [{ severity: 'warning', description: missingText }],
  },
  {
    alert: 'MatteReadingsMissing',
    when: 'the database is down for ten minutes',
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
    when: 'no API runs, which another alert reports',
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
  ...masterKeys,
  {
    alert: 'MatteProcessAbsent',
    when: 'no dispatcher runs',
    series: { [up('api')]: '1x10', [up('worker')]: '1x10', [up('operator')]: '1x10' },
    at: '5m',
    fires: [{ severity: 'critical', process: 'dispatcher', description: absentText('dispatcher') }],
  },
  {
    alert: 'MatteProcessAbsent',
    when: 'only another installation runs',
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
    when: 'one replica of each runs',
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
    when: 'claims fail continuously',
    series: { [claims]: '0+2x20' },
    at: '10m',
    fires: [
      {
        severity: 'warning',
        kind: 'task',
        description:
          '10 claim rounds (task) failed in 5 minutes; the limit is 5. While all rounds fail, no task starts or no ' +
          'webhook is sent.',
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
    when: 'twenty fail in a single minute',
    series: { [claims]: '0x10 20x20' },
    at: '14m',
    fires: [],
  },
]
