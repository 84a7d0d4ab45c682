import type { DashboardSource, Row } from './panel.ts'
import { cost, ours } from './platform-cost.ts'
import { quantile } from './quantiles.ts'
import { inRange, perSecond } from './rates.ts'
import { badFrom, goodFrom, worseFrom } from './thresholds.ts'

const health: Row = {
  title: 'Health: is every process running, and can it reach its servers?',
  panels: [
    {
      title: 'Processes up',
      sentence: 'Processes scraped by Prometheus. A missing one is down or not scraped.',
      runbooks: ['MatteProcessAbsent'],
      kind: 'stat',
      unit: 'none',
      width: 8,
      thresholds: goodFrom(1),
      queries: [{ expr: 'count by (process) (matte_build_info{})', legend: '{{process}}' }],
    },
    {
      title: 'Versions running',
      sentence: 'Processes by version. Two versions mean an upgrade in progress, or a stuck one.',
      kind: 'stat',
      unit: 'none',
      width: 4,
      queries: [{ expr: 'count by (version) (matte_build_info{})', legend: '{{version}}' }],
    },
    {
      title: 'Leaders',
      sentence: 'Operators that act as leader. None: no scaling and no rollouts; requests are served.',
      runbooks: ['MatteNoLeader', 'MatteTwoLeaders'],
      kind: 'stat',
      unit: 'none',
      width: 4,
      thresholds: goodFrom(1),
      needs: 'pools',
      queries: [{ expr: 'sum(matte_leader{})', legend: 'leaders' }],
    },
    {
      title: 'Connected to NATS',
      sentence:
        'Share of the processes with a connection to NATS. Without one, tasks and webhooks wait up to a second.',
      runbooks: ['MatteNatsDisconnected'],
      kind: 'stat',
      unit: 'percentunit',
      width: 4,
      thresholds: goodFrom(1),
      queries: [{ expr: 'avg(matte_nats_connected{})', legend: 'connected' }],
    },
    {
      title: 'Broken invariants',
      sentence: 'Rows that violate an invariant, such as a balance that differs from its ledger. Always 0.',
      runbooks: ['MatteInvariantBroken'],
      kind: 'stat',
      unit: 'none',
      width: 4,
      thresholds: badFrom(1),
      queries: [{ expr: 'sum(max by (namespace, job, invariant) (matte_invariant_violations{}))', legend: 'rows' }],
    },
    {
      title: 'Failures of dependencies',
      sentence: 'Failed connections and requests, by server.',
      runbooks: ['MatteDatabaseUnreachable', 'MatteStoreUnreachable', 'MatteCertificateFailing'],
      kind: 'lines',
      unit: 'ops',
      queries: [{ expr: perSecond('matte_dependency_errors_total', 'dependency'), legend: '{{dependency}}' }],
    },
    {
      title: 'Failures of dependencies, by reason',
      sentence: 'Failures in the selected time. Certificate and credential errors need an operator.',
      kind: 'bars',
      unit: 'none',
      thresholds: badFrom(0),
      queries: [
        {
          expr: `${inRange('matte_dependency_errors_total', 'dependency, reason')} > 0`,
          legend: '{{dependency}} {{reason}}',
        },
      ],
      emptyBecause: 'nothing may have failed',
    },
    {
      title: 'Process restarts',
      sentence: 'Restarts in the selected time, without new pods of an upgrade.',
      kind: 'lines',
      unit: 'none',
      queries: [
        { expr: `sum by (process) (changes(process_start_time_seconds{${ours}}[RANGE]))`, legend: '{{process}}' },
      ],
    },
    {
      title: 'Failed background work',
      sentence: 'Failed parts of sweeps in the selected time. Each is retried shortly after.',
      kind: 'bars',
      unit: 'none',
      thresholds: badFrom(1),
      queries: [{ expr: inRange('matte_sweep_failures_total', 'part'), legend: '{{part}}' }],
    },
    {
      title: 'Retention lag',
      sentence: 'Time since the oldest deletion became due. If it grows, deletion does not keep up.',
      runbooks: ['MatteRetentionLate'],
      kind: 'lines',
      unit: 's',
      thresholds: worseFrom(3_600, 21_600),
      queries: [{ expr: 'max by (what) (matte_retention_lag_seconds{})', legend: '{{what}}' }],
    },
  ],
}

const servers: Row = {
  title: 'Servers: how fast are the database and the object store?',
  panels: [
    {
      title: 'Database, p95 by operation',
      sentence: 'Statements and transactions, without the wait for a connection.',
      kind: 'lines',
      unit: 's',
      queries: [
        {
          expr: quantile(0.95, 'matte_database_query_duration_seconds', { by: ['operation'] }),
          legend: '{{operation}}',
        },
      ],
    },
    {
      title: 'Database errors',
      sentence: 'Failed statements, by reason. Conflicts are retried and do not reach callers.',
      kind: 'lines',
      unit: 'ops',
      queries: [{ expr: perSecond('matte_database_errors_total', 'reason'), legend: '{{reason}}' }],
    },
    {
      title: 'Object store, p95 by operation',
      sentence: 'Requests to the object store.',
      kind: 'lines',
      unit: 's',
      queries: [
        {
          expr: quantile(0.95, 'matte_store_request_duration_seconds', { by: ['operation'] }),
          legend: '{{operation}}',
        },
      ],
    },
    {
      title: 'Object store, requests by outcome',
      sentence: 'Requests to the object store. `missing`: the object does not exist.',
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecond('matte_store_request_duration_seconds_count', 'outcome'), legend: '{{outcome}}' }],
    },
    {
      title: 'Kubernetes API server, requests by code',
      sentence: 'Requests of workers and operators. 409: a conflicting write, which is retried.',
      kind: 'stack',
      unit: 'ops',
      needs: 'pools',
      queries: [{ expr: perSecond('matte_kube_requests_total', 'code'), legend: '{{code}}' }],
    },
  ],
}

const saturation: Row = {
  title: 'Saturation: which resource is exhausted first?',
  panels: [
    {
      title: 'Database connections in use',
      sentence: 'Maximum of each kind of process. At 100 % statements wait: raise database.poolMax.',
      runbooks: ['MatteDatabasePoolSaturated'],
      kind: 'lines',
      unit: 'percentunit',
      thresholds: worseFrom(0.8, 0.95),
      queries: [
        {
          expr:
            'max by (process) (matte_database_pool_connections{state="used"} ' +
            '/ ignoring (state) matte_database_pool_connections{state="max"})',
          legend: '{{process}}',
        },
      ],
    },
    {
      title: 'Statements waiting for a connection',
      sentence: 'Statements waiting for a database connection of their process.',
      runbooks: ['MatteDatabasePoolSaturated'],
      kind: 'lines',
      unit: 'none',
      thresholds: badFrom(10),
      queries: [{ expr: 'sum by (process) (matte_database_pool_waiting{})', legend: '{{process}}' }],
    },
    {
      title: 'Requests in the API',
      sentence: 'In flight, and waiting for their body or the store. Above its capacity the API returns 429.',
      runbooks: ['MatteApiRefusing'],
      kind: 'lines',
      unit: 'none',
      queries: [
        { expr: 'sum(matte_http_requests_in_flight{})', legend: 'in flight' },
        { expr: 'sum by (for) (matte_http_requests_waiting{})', legend: 'waiting for {{for}}' },
      ],
    },
    {
      title: 'Event loop delay, p99',
      sentence: 'Maximum of each kind of process. The minimum is 0.1 s; above 0.5 s, CPU is short.',
      kind: 'lines',
      unit: 's',
      thresholds: worseFrom(0.5, 1),
      queries: [{ expr: `max by (process) (nodejs_eventloop_lag_p99_seconds{${ours}})`, legend: '{{process}}' }],
    },
    {
      title: 'Memory, maximum',
      sentence: "Resident memory; compare it with the pod's limit. The worker holds decoded images.",
      kind: 'lines',
      unit: 'bytes',
      queries: [{ expr: `max by (process) (process_resident_memory_bytes{${ours}})`, legend: '{{process}}' }],
    },
    {
      title: 'Work in flight',
      sentence: 'Tasks in the workers, inferences in Triton, webhooks in the dispatchers.',
      kind: 'lines',
      unit: 'none',
      queries: [
        { expr: 'sum(matte_tasks_in_flight{})', legend: 'tasks' },
        { expr: 'sum(matte_slots_used{})', legend: 'inferences' },
        { expr: 'sum(matte_delivery_in_flight{})', legend: 'webhooks' },
      ],
    },
  ],
}

export const platform: DashboardSource = {
  uid: 'matte-platform',
  title: 'Matte / Platform',
  sentence: 'Health, servers, saturation and cost.',
  rows: [health, servers, saturation, cost],
}
