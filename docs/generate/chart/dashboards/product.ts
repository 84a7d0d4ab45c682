import type { DashboardSource, Row } from './panel.ts'
import { quantile, shortRoutes } from './quantiles.ts'
import { inRange, perSecond, perSecondSeen, shared } from './rates.ts'
import { badFrom, worseFrom } from './thresholds.ts'

const completion = 'matte_task_completion_seconds'
const confidence = 'matte_task_confidence_ratio'

const tasks: Row = {
  title: 'Tasks: how many were created, and how did they end?',
  panels: [
    {
      title: 'Accepted',
      sentence: 'Tasks accepted in the selected time.',
      kind: 'stat',
      unit: 'none',
      width: 6,
      queries: [{ expr: 'sum(increase(matte_tasks_created_total{}[RANGE]))', legend: 'tasks' }],
    },
    {
      title: 'Ended, by status',
      sentence: 'Tasks ended in the selected time. Callers cancel tasks.',
      kind: 'stat',
      unit: 'none',
      width: 12,
      queries: [{ expr: inRange(`${completion}_count`, 'status'), legend: '{{status}}' }],
    },
    {
      title: 'Waiting now',
      sentence: 'Tasks waiting for a worker, counted up to 10,000 per model version.',
      kind: 'stat',
      unit: 'none',
      width: 6,
      queries: [{ expr: `sum(${shared('matte_tasks_queued', 'model_version')})`, legend: 'tasks' }],
    },
    {
      title: 'Accepted, by plan',
      sentence: "Tasks accepted per second, by their workspace's plan.",
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecond('matte_tasks_created_total', 'plan'), legend: '{{plan}}' }],
    },
    {
      title: 'Accepted, by model version',
      sentence: 'Tasks accepted per second, by requested model version.',
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecond('matte_tasks_created_total', 'model_version'), legend: '{{model_version}}' }],
    },
    {
      title: 'Task completion time, p95 by plan',
      sentence: 'Succeeded tasks, from creation to the end, including the queue.',
      kind: 'lines',
      unit: 's',
      queries: [
        { expr: quantile(0.95, completion, { by: ['plan'], matchers: 'status="succeeded"' }), legend: '{{plan}}' },
      ],
    },
    {
      title: 'Failed, by code',
      sentence: 'Failed tasks, by the code that the caller sees. INPUT codes are caller errors.',
      runbooks: ['MatteTasksFailing'],
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecondSeen('matte_task_failures_total', 'code'), legend: '{{code}}' }],
    },
    {
      title: 'Unsure results, by model',
      sentence: 'Share of the results in the selected time with a confidence below 0.5.',
      runbooks: ['MatteResultsUnsure'],
      kind: 'stat',
      unit: 'percentunit',
      queries: [
        {
          expr: `${inRange(`${confidence}_bucket`, 'model_version', 'le="0.49"')} / ${inRange(`${confidence}_count`, 'model_version')}`,
          legend: '{{model_version}}',
        },
      ],
    },
  ],
}

const answers: Row = {
  title: 'Responses: what do callers get?',
  panels: [
    {
      title: 'Requests by status',
      sentence: "API responses by HTTP status, including health checks and the store's objects.",
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecond('matte_http_request_duration_seconds_count', 'status'), legend: '{{status}}' }],
    },
    {
      title: 'Errors by code',
      sentence: 'Error responses, by the code in their body.',
      kind: 'lines',
      unit: 'ops',
      queries: [{ expr: perSecondSeen('matte_http_errors_total', 'code'), legend: '{{code}}' }],
    },
    {
      title: 'Errors in the selected time',
      sentence: 'Number of error responses and of failed tasks, by code.',
      kind: 'bars',
      unit: 'none',
      queries: [
        { expr: `${inRange('matte_http_errors_total', 'code')} > 0`, legend: 'answered {{code}}' },
        { expr: `${inRange('matte_task_failures_total', 'code')} > 0`, legend: 'task failed: {{code}}' },
      ],
    },
    {
      title: 'Requests by route',
      sentence: 'Requests in the selected time.',
      kind: 'bars',
      unit: 'none',
      queries: [
        {
          expr: shortRoutes(inRange('matte_http_request_duration_seconds_count', 'method, route')),
          legend: '{{method}} {{route}}',
        },
      ],
    },
  ],
}

const credits: Row = {
  title: 'Credits: charged, released, held',
  panels: [
    {
      title: 'Settled, by outcome',
      sentence: 'Credits of ended tasks: charged for a result, released for a failure or a cancellation.',
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecond('matte_credits_settled_total', 'outcome'), legend: '{{outcome}}' }],
    },
    {
      title: 'Charged, by plan',
      sentence: 'Credits charged in the selected time. Plan `internal` is not charged.',
      kind: 'bars',
      unit: 'none',
      queries: [{ expr: inRange('matte_credits_settled_total', 'plan', 'outcome="charged"'), legend: '{{plan}}' }],
    },
    {
      title: 'Held',
      sentence: 'Credits held by open tasks, read every minute. It follows the queue, down to 0.',
      kind: 'lines',
      unit: 'none',
      queries: [
        {
          expr: 'sum(max by (namespace, job) (matte_credits_held{}))',
          legend: 'credits',
        },
      ],
    },
    {
      title: 'Broken invariants',
      sentence: 'Accounts that differ from their ledger, tasks charged twice or never settled. Always 0.',
      runbooks: ['MatteInvariantBroken'],
      kind: 'lines',
      unit: 'none',
      thresholds: badFrom(1),
      queries: [{ expr: shared('matte_invariant_violations', 'invariant'), legend: '{{invariant}}' }],
    },
  ],
}

const webhooks: Row = {
  title: 'Webhooks: do they reach their receivers?',
  panels: [
    {
      title: 'Ended, by outcome',
      sentence: 'Delivered, failed after the last attempt, or canceled with their endpoint.',
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecond('matte_deliveries_ended_total', 'outcome'), legend: '{{outcome}}' }],
    },
    {
      title: 'Ended, by event',
      sentence: 'Deliveries ended in the selected time.',
      kind: 'bars',
      unit: 'none',
      queries: [
        {
          expr: `${inRange('matte_deliveries_ended_total', 'event, outcome')} > 0`,
          legend: '{{event}} {{outcome}}',
        },
      ],
    },
    {
      title: 'Attempts, by outcome',
      sentence: 'Requests to receivers. Failed ones are retried on a fixed schedule.',
      runbooks: ['MatteWebhooksFailing'],
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecondSeen('matte_delivery_attempts_total', 'outcome'), legend: '{{outcome}}' }],
    },
    {
      title: 'Duration of an attempt, p95',
      sentence: 'Response time of receivers.',
      kind: 'lines',
      unit: 's',
      queries: [{ expr: quantile(0.95, 'matte_delivery_duration_seconds'), legend: 'p95' }],
    },
    {
      title: 'Oldest due webhook',
      sentence: 'Time since the oldest unclaimed webhook became due.',
      runbooks: ['MatteDeliveriesOverdue'],
      kind: 'lines',
      unit: 's',
      thresholds: worseFrom(300, 1_800),
      queries: [{ expr: 'max(matte_delivery_due_age_seconds{})', legend: 'oldest' }],
    },
  ],
}

const appApi: Row = {
  title: 'App API: payments, mails, streams',
  panels: [
    {
      title: 'Orders and refunds, by outcome',
      sentence: 'Orders created and paid, charges declined, refunds paid or failed, in the selected time.',
      kind: 'bars',
      unit: 'none',
      queries: [{ expr: `${inRange('matte_payments_total', 'outcome')} > 0`, legend: '{{outcome}}' }],
      emptyBecause: 'nothing may have been ordered',
    },
    {
      title: 'Provider events, by outcome',
      sentence: 'Events of the payment provider. It resends failed ones; refused ones had no valid signature.',
      runbooks: ['MattePaymentsOverdue'],
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecondSeen('matte_payment_events_total', 'outcome'), legend: '{{outcome}}' }],
      emptyBecause: 'nothing may have been paid',
    },
    {
      title: 'Payments overdue',
      sentence: 'Time since a check of the provider became due, and age of unconfirmed refunds.',
      runbooks: ['MattePaymentsOverdue'],
      kind: 'lines',
      unit: 's',
      thresholds: worseFrom(600, 3_600),
      queries: [{ expr: 'max by (what) (matte_payment_overdue_seconds{})', legend: '{{what}}' }],
    },
    {
      title: 'Mails, by outcome',
      sentence: 'Mails per second: sent, rejected permanently, or expired after three days.',
      runbooks: ['MatteMailsWaiting'],
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecondSeen('matte_mails_ended_total', 'outcome'), legend: '{{outcome}}' }],
      emptyBecause: 'no mail may have been sent',
    },
    {
      title: 'Live streams',
      sentence: 'Open streams of task changes.',
      kind: 'lines',
      unit: 'none',
      queries: [{ expr: 'sum(matte_task_streams_open{})', legend: 'open' }],
    },
    {
      title: 'Live streams ended, by reason',
      sentence: 'Streams ended per second. Slow: dropped because the client did not read.',
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecondSeen('matte_task_streams_ended_total', 'reason'), legend: '{{reason}}' }],
      emptyBecause: 'no stream may have ended',
    },
  ],
}

export const product: DashboardSource = {
  uid: 'matte-product',
  title: 'Matte / Product',
  sentence: 'Tasks, responses, credits, webhooks and the App API.',
  rows: [tasks, answers, credits, webhooks, appApi],
}
