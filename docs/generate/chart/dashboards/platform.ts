import type { DashboardSource, Row } from './panel.ts'
import { cost, ours } from './platform-cost.ts'
import { quantile } from './quantiles.ts'
import { inRange, perSecond } from './rates.ts'
import { badFrom, goodFrom, worseFrom } from './thresholds.ts'

const health: Row = {
  title: 'Health: is every part there, and does it reach its servers?',
  panels: [
    {
      title: 'Processes up',
      sentence: 'Processes that Prometheus reaches, by kind. One that is missing here is down or not scraped.',
      runbooks: ['MatteProcessAbsent'],
      kind: 'stat',
      unit: 'none',
      width: 8,
      thresholds: goodFrom(1),
      queries: [{ expr: 'count by (process) (matte_build_info{})', legend: '{{process}}' }],
    },
    {
      title: 'Versions running',
      sentence: 'Processes by version. Two versions are an upgrade in progress, or one that got stuck.',
      kind: 'stat',
      unit: 'none',
      width: 4,
      queries: [{ expr: 'count by (version) (matte_build_info{})', legend: '{{version}}' }],
    },
    {
      title: 'Leaders',
      sentence: 'Controllers that decide about Triton pods. None: nothing scales or rolls out, requests go on.',
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
      sentence: 'Rows that contradict an invariant, such as a balance that its ledger does not explain. Always 0.',
      runbooks: ['MatteInvariantBroken'],
      kind: 'stat',
      unit: 'none',
      width: 4,
      thresholds: badFrom(1),
      queries: [{ expr: 'sum(max by (namespace, job, invariant) (matte_invariant_violations{}))', legend: 'rows' }],
    },
    {
      title: 'Failures of servers behind Matte',
      sentence: 'Connections and requests that failed, by server.',
      runbooks: ['MatteDatabaseUnreachable', 'MatteStoreUnreachable', 'MatteCertificateFailing'],
      kind: 'lines',
      unit: 'ops',
      queries: [{ expr: perSecond('matte_dependency_errors_total', 'dependency'), legend: '{{dependency}}' }],
    },
    {
      title: 'Reasons of these failures',
      sentence: 'Connections and requests that failed in the time shown. Certificates and credentials need a person.',
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
      title: 'Starts of processes',
      sentence: 'How often a process started again in the time shown, without the new pods of an upgrade.',
      kind: 'lines',
      unit: 'none',
      queries: [
        { expr: `sum by (process) (changes(process_start_time_seconds{${ours}}[RANGE]))`, legend: '{{process}}' },
      ],
    },
    {
      title: 'Background work that failed',
      sentence: 'Parts of the sweep that failed in the time shown. Each is tried again a moment later.',
      kind: 'bars',
      unit: 'none',
      thresholds: badFrom(1),
      queries: [{ expr: inRange('matte_sweep_failures_total', 'part'), legend: '{{part}}' }],
    },
    {
      title: 'Retention is behind',
      sentence: 'How long the oldest thing that is due for deletion has been due. Growing: deletion does not keep up.',
      runbooks: ['MatteRetentionLate'],
      kind: 'lines',
      unit: 's',
      thresholds: worseFrom(3_600, 21_600),
      queries: [{ expr: 'max by (what) (matte_retention_lag_seconds{})', legend: '{{what}}' }],
    },
  ],
}

const servers: Row = {
  title: 'Servers: how fast do the database and the store answer?',
  panels: [
    {
      title: 'Database, p95 by operation',
      sentence: '95 of 100 statements and transactions were faster than this, the wait for a connection left out.',
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
      sentence: 'Statements that failed, by reason. Conflicts are repeated and reach nobody.',
      kind: 'lines',
      unit: 'ops',
      queries: [{ expr: perSecond('matte_database_errors_total', 'reason'), legend: '{{reason}}' }],
    },
    {
      title: 'Object store, p95 by operation',
      sentence: '95 of 100 requests to the store were faster than this.',
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
      sentence: 'Requests to the store. `missing` is an answer: an object that is not there.',
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecond('matte_store_request_duration_seconds_count', 'outcome'), legend: '{{outcome}}' }],
    },
    {
      title: 'API server of Kubernetes, requests by code',
      sentence: 'Requests of workers and operators. 409 is a write that somebody else came before; it is tried again.',
      kind: 'stack',
      unit: 'ops',
      needs: 'pools',
      queries: [{ expr: perSecond('matte_kube_requests_total', 'code'), legend: '{{code}}' }],
    },
  ],
}

const saturation: Row = {
  title: 'Saturation: what runs out first?',
  panels: [
    {
      title: 'Database connections in use',
      sentence: 'The fullest pool of each kind of process. At 100 % the next statement waits: raise database.poolMax.',
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
      title: 'Waiting for a database connection',
      sentence: 'Statements that wait for a connection of their process.',
      runbooks: ['MatteDatabasePoolSaturated'],
      kind: 'lines',
      unit: 'none',
      thresholds: badFrom(10),
      queries: [{ expr: 'sum by (process) (matte_database_pool_waiting{})', legend: '{{process}}' }],
    },
    {
      title: 'Requests in the API',
      sentence: 'Being worked on, and waiting for their body or the store. Beyond its room the API refuses with 429.',
      runbooks: ['MatteApiRefusing'],
      kind: 'lines',
      unit: 'none',
      queries: [
        { expr: 'sum(matte_http_requests_in_flight{})', legend: 'in flight' },
        { expr: 'sum by (for) (matte_http_requests_waiting{})', legend: 'waiting for {{for}}' },
      ],
    },
    {
      title: 'Delay of the event loop, p99',
      sentence: 'The slowest process of each kind. It reads 0.1 s at least; above half a second, CPU is short.',
      kind: 'lines',
      unit: 's',
      thresholds: worseFrom(0.5, 1),
      queries: [{ expr: `max by (process) (nodejs_eventloop_lag_p99_seconds{${ours}})`, legend: '{{process}}' }],
    },
    {
      title: 'Memory of the largest process',
      sentence: 'Resident memory, to hold against the limit of its pod. The worker holds decoded images.',
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
  sentence: 'Is every part there, what runs out first, and what does the work cost?',
  rows: [health, servers, saturation, cost],
}
