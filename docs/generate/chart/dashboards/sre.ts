import type { DashboardSource, Row } from './panel.ts'
import { quantile, quantiles, shortRoutes } from './quantiles.ts'
import { perSecond, perSecondSeen, shared } from './rates.ts'
import { autoscaling, operator, rollouts } from './sre-pools.ts'
import { triton } from './sre-triton.ts'
import { badFrom, worseFrom } from './thresholds.ts'

const http = 'matte_http_request_duration_seconds'
// Those of the objective behind the alert MatteAcceptFailing.
const creations =
  'method="POST", route=~"/api/v1/open/developer/(tasks|tasks/:taskId/retry|batch-tasks|uploads/presign)|/v1/tasks"'

const promises: Row = {
  title: 'Promises: are tasks accepted, and do they end?',
  panels: [
    {
      title: 'Creations answered without an error of ours',
      sentence: 'Share of the creations (tasks, batches, uploads) that were not answered with 5xx.',
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
      title: 'Tasks that ended within 30 s',
      sentence: 'Share of the tasks that were not canceled, from their acceptance on.',
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
      sentence: 'Over all model versions. A task is not lost, however long it waits; see the queue below.',
      runbooks: ['MatteTasksWaiting'],
      kind: 'stat',
      unit: 's',
      width: 8,
      thresholds: worseFrom(300, 3_600),
      queries: [{ expr: 'max(matte_task_queued_age_seconds{})', legend: 'oldest' }],
    },
    {
      title: 'From acceptance to the end of a task',
      sentence: 'Half, 95 and 99 of 100 tasks took less, the wait in the queue included.',
      runbooks: ['MatteCompletionLate'],
      kind: 'lines',
      unit: 's',
      queries: quantiles('matte_task_completion_seconds'),
    },
    {
      title: 'Creations by status',
      sentence: 'Answers to creations. 429 are limits and capacity, 5xx are ours.',
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecond(`${http}_count`, 'status', creations), legend: '{{status}}' }],
    },
  ],
}

const queue: Row = {
  title: 'Queue: does work wait, and who takes it?',
  panels: [
    {
      title: 'Oldest waiting task, by model version',
      sentence: 'How long it has waited for a worker. Rising steadily: no pod serves the version, or too few.',
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
      sentence: 'Tasks a second. Where more are accepted than end, the queue grows.',
      kind: 'lines',
      unit: 'ops',
      queries: [
        { expr: 'sum(rate(matte_tasks_created_total{}[RATE]))', legend: 'accepted' },
        { expr: 'sum(rate(matte_task_completion_seconds_count{}[RATE]))', legend: 'ended' },
      ],
    },
    {
      title: 'Webhooks that are due',
      sentence: 'Counted up to 10,000. Webhooks held back by the bounds of their receiver count too.',
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
      title: 'Oldest webhook that is due',
      sentence: 'How long it has been due. Rising: no dispatcher runs, or receivers answer too slowly.',
      runbooks: ['MatteDeliveriesOverdue'],
      kind: 'lines',
      unit: 's',
      thresholds: worseFrom(300, 1_800),
      queries: [{ expr: 'max(matte_delivery_due_age_seconds{})', legend: 'oldest' }],
    },
    {
      title: 'Claims in trouble',
      sentence:
        'Expired: a worker died or hung. Lost: its work was done again. Failed: the database refused the round.',
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
      sentence: '95 of 100 requests took less. Uploads and results count until their last byte.',
      kind: 'lines',
      unit: 's',
      queries: [
        { expr: shortRoutes(quantile(0.95, http, { by: ['method', 'route'] })), legend: '{{method}} {{route}}' },
      ],
    },
    {
      title: 'Wait for a worker',
      sentence: 'From the start of the wait to the claim.',
      kind: 'lines',
      unit: 's',
      queries: quantiles('matte_task_queue_wait_seconds'),
    },
    {
      title: 'Stages of a task, p95',
      sentence: 'What a worker does after its claim. `infer` holds the wait for a pod and the model.',
      kind: 'lines',
      unit: 's',
      queries: [{ expr: quantile(0.95, 'matte_task_stage_seconds', { by: ['stage'] }), legend: '{{stage}}' }],
    },
    {
      title: 'Attempts by outcome',
      sentence: 'Given back: the pod or the store was gone, and no attempt was spent. Lost: somebody else ended it.',
      kind: 'stack',
      unit: 'ops',
      queries: [
        { expr: perSecondSeen('matte_task_attempts_total', 'status, reason'), legend: '{{status}} {{reason}}' },
      ],
    },
    {
      title: 'Refused for lack of room',
      sentence: 'Requests that the API refused early with 429, so that accepted ones keep their pace.',
      runbooks: ['MatteApiRefusing'],
      kind: 'lines',
      unit: 'ops',
      queries: [{ expr: 'sum(rate(matte_http_requests_refused_total{}[RATE]))', legend: 'refused' }],
    },
    {
      title: 'Inferences that failed, and pods taken out',
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
  sentence: 'Is work accepted and done in time, what waits where, and what did the autoscaler decide by which rule?',
  rows: [promises, queue, latency, autoscaling, rollouts, triton, operator],
}
