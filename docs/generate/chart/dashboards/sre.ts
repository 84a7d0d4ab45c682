import type { DashboardSource, Row } from './panel.ts'
import { quantile, quantiles, shortRoutes } from './quantiles.ts'
import { perSecond, perSecondSeen, shared } from './rates.ts'
import { autoscaling, operator, rollouts } from './sre-pools.ts'
import { triton } from './sre-triton.ts'
import { badFrom, worseFrom } from './thresholds.ts'

const http = 'matte_http_request_duration_seconds'
// The routes of MatteAcceptFailing's objective.
const creations =
  'method="POST", route=~"/api/v1/open/developer/(tasks|tasks/:taskId/retry|batch-tasks|uploads/presign)|/v1/tasks"'

const objectives: Row = {
  title: 'Objectives: are tasks accepted, and do they finish?',
  panels: [
    {
      title: 'Create requests without a server error',
      sentence: 'Share of create requests (tasks, batches, uploads) without a 5xx response.',
      runbooks: ['MatteAcceptFailing'],
      kind: 'stat',
      unit: 'percentunit',
      width: 8,
      thresholds: [
        { from: Number.NEGATIVE_INFINITY, color: 'red' },
        { from: 0.99, color: 'orange' },
        { from: 0.999, color: 'green' },
      ],
      queries: [
        {
          expr:
            `sum(increase(${http}_count{${creations}, status!~"5.."}[RANGE])) ` +
            `/ sum(increase(${http}_count{${creations}}[RANGE]))`,
          legend: 'accepted',
        },
      ],
    },
    {
      title: 'Tasks finished within 30 s',
      sentence: 'Share of tasks, measured from creation, without canceled ones.',
      runbooks: ['MatteCompletionLate'],
      kind: 'stat',
      unit: 'percentunit',
      width: 8,
      queries: [
        {
          expr:
            // Prometheus 3 writes the bound as 30.0.
            'sum(increase(matte_task_completion_seconds_bucket{le=~"30(.0)?", status!="canceled"}[RANGE])) ' +
            '/ sum(increase(matte_task_completion_seconds_count{status!="canceled"}[RANGE]))',
          legend: 'within 30 s',
        },
      ],
    },
    {
      title: 'Oldest waiting task',
      sentence: 'Over all model versions. Waiting tasks are not lost; see the queue below.',
      runbooks: ['MatteTasksWaiting'],
      kind: 'stat',
      unit: 's',
      width: 8,
      thresholds: worseFrom(300, 3_600),
      queries: [{ expr: 'max(matte_task_queued_age_seconds{})', legend: 'oldest' }],
    },
    {
      title: 'Task completion time',
      sentence: 'Median, p95 and p99 from creation to the end, including the queue.',
      runbooks: ['MatteCompletionLate'],
      kind: 'lines',
      unit: 's',
      queries: quantiles('matte_task_completion_seconds'),
    },
    {
      title: 'Create requests by status',
      sentence: 'Responses to create requests. 429: limits and capacity. 5xx: server errors.',
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecond(`${http}_count`, 'status', creations), legend: '{{status}}' }],
    },
  ],
}

const queue: Row = {
  title: 'Queue: do tasks wait, and are they claimed?',
  panels: [
    {
      title: 'Oldest waiting task, by model version',
      sentence: 'Time waiting for a worker. A steady rise means too few pods, or none, for the version.',
      runbooks: ['MatteTasksWaiting'],
      kind: 'lines',
      unit: 's',
      thresholds: worseFrom(300, 3_600),
      queries: [{ expr: 'max by (model_version) (matte_task_queued_age_seconds{})', legend: '{{model_version}}' }],
    },
    {
      title: 'Tasks waiting',
      sentence: 'By model version, counted up to 10,000.',
      kind: 'stack',
      unit: 'none',
      queries: [{ expr: shared('matte_tasks_queued', 'model_version'), legend: '{{model_version}}' }],
    },
    {
      title: 'Accepted and ended',
      sentence: 'Tasks per second. The queue grows while more are accepted than end.',
      kind: 'lines',
      unit: 'ops',
      queries: [
        { expr: 'sum(rate(matte_tasks_created_total{}[RATE]))', legend: 'accepted' },
        { expr: 'sum(rate(matte_task_completion_seconds_count{}[RATE]))', legend: 'ended' },
      ],
    },
    {
      title: 'Due webhooks',
      sentence: 'Counted up to 10,000, including webhooks held back by limits of their receiver.',
      kind: 'lines',
      unit: 'none',
      queries: [
        {
          expr: 'sum(max by (namespace, job) (matte_deliveries_due{}))',
          legend: 'due',
        },
      ],
    },
    {
      title: 'Oldest due webhook',
      sentence: 'Time since it became due. A rise means that no dispatcher runs, or receivers respond slowly.',
      runbooks: ['MatteDeliveriesOverdue'],
      kind: 'lines',
      unit: 's',
      thresholds: worseFrom(300, 1_800),
      queries: [{ expr: 'max(matte_delivery_due_age_seconds{})', legend: 'oldest' }],
    },
    {
      title: 'Claim problems',
      sentence: 'Expired: a worker died or hung. Lost: its work was repeated. Failed: the database rejected the round.',
      runbooks: ['MatteClaimsFailing'],
      kind: 'lines',
      unit: 'ops',
      thresholds: badFrom(1),
      queries: [
        { expr: perSecond('matte_claims_expired_total', 'kind'), legend: '{{kind}} expired' },
        { expr: perSecond('matte_claims_lost_total', 'kind'), legend: '{{kind}} lost' },
        { expr: perSecond('matte_claim_failures_total', 'kind'), legend: '{{kind}} round failed' },
      ],
    },
  ],
}

const latency: Row = {
  title: 'Latency: where does the time go?',
  panels: [
    {
      title: 'Requests, p95 by route',
      sentence: 'Requests by route, up to the last byte of uploads and results.',
      kind: 'lines',
      unit: 's',
      queries: [
        { expr: shortRoutes(quantile(0.95, http, { by: ['method', 'route'] })), legend: '{{method}} {{route}}' },
      ],
    },
    {
      title: 'Wait for a worker',
      sentence: 'Time from queueing to the claim.',
      kind: 'lines',
      unit: 's',
      queries: quantiles('matte_task_queue_wait_seconds'),
    },
    {
      title: 'Stages of a task, p95',
      sentence: 'Stages of a worker after the claim. `infer` includes the wait for a pod.',
      kind: 'lines',
      unit: 's',
      queries: [{ expr: quantile(0.95, 'matte_task_stage_seconds', { by: ['stage'] }), legend: '{{stage}}' }],
    },
    {
      title: 'Attempts by outcome',
      sentence: 'Given back: pod or store unavailable, no attempt used up. Lost: another process ended the task.',
      kind: 'stack',
      unit: 'ops',
      queries: [
        { expr: perSecondSeen('matte_task_attempts_total', 'status, reason'), legend: '{{status}} {{reason}}' },
      ],
    },
    {
      title: 'Rejected for lack of capacity',
      sentence: 'Requests that the API rejected early with 429 to protect accepted ones.',
      runbooks: ['MatteApiRefusing'],
      kind: 'lines',
      unit: 'ops',
      queries: [{ expr: 'sum(rate(matte_http_requests_refused_total{}[RATE]))', legend: 'refused' }],
    },
    {
      title: 'Failed inferences, and pods taken out of rotation',
      sentence: 'A pod that stalls or fails gets no requests until a probe succeeds.',
      kind: 'lines',
      unit: 'ops',
      queries: [
        { expr: perSecond('matte_stream_errors_total', 'kind'), legend: 'inference {{kind}}' },
        { expr: perSecond('matte_pod_ejections_total', 'reason'), legend: 'pod out: {{reason}}' },
      ],
    },
  ],
}

export const sre: DashboardSource = {
  uid: 'matte-sre',
  title: 'Matte / SRE',
  sentence: 'Objectives, queue, latency, autoscaling, rollouts and the operator.',
  rows: [objectives, queue, latency, autoscaling, rollouts, triton, operator],
}
