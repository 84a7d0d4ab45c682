import type { DashboardSource, Row } from './panel.ts'
import { quantile, shortRoutes } from './quantiles.ts'
import { inRange, perSecond, perSecondSeen, shared } from './rates.ts'
import { badFrom, worseFrom } from './thresholds.ts'

const completion = 'matte_task_completion_seconds'

const tasks: Row = {
  title: 'Tasks: what came, what became of it?',
  panels: [
    {
      title: 'Accepted',
      sentence: 'Tasks accepted in the time shown.',
      kind: 'stat',
      unit: 'none',
      width: 6,
      queries: [{ expr: 'sum(increase(matte_tasks_created_total{}[RANGE]))', legend: 'tasks' }],
    },
    {
      title: 'Ended, by status',
      sentence: 'Tasks that ended in the time shown. Canceled ones were canceled by their callers.',
      kind: 'stat',
      unit: 'none',
      width: 12,
      queries: [{ expr: inRange(`${completion}_count`, 'status'), legend: '{{status}}' }],
    },
    {
      title: 'Waiting now',
      sentence: 'Tasks that wait for a worker, counted up to 10,000 a model version.',
      kind: 'stat',
      unit: 'none',
      width: 6,
      queries: [{ expr: `sum(${shared('matte_tasks_queued', 'model_version')})`, legend: 'tasks' }],
    },
    {
      title: 'Accepted, by plan',
      sentence: 'Tasks accepted each second, by the plan of their workspace.',
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecond('matte_tasks_created_total', 'plan'), legend: '{{plan}}' }],
    },
    {
      title: 'Accepted, by model version',
      sentence: 'Tasks accepted each second, by the public version that they asked for.',
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecond('matte_tasks_created_total', 'model_version'), legend: '{{model_version}}' }],
    },
    {
      title: 'From acceptance to the cut-out, p95 by plan',
      sentence: '95 of 100 tasks that succeeded took less, the wait in the queue included.',
      kind: 'lines',
      unit: 's',
      queries: [
        { expr: quantile(0.95, completion, { by: ['plan'], matchers: 'status="succeeded"' }), legend: '{{plan}}' },
      ],
    },
    {
      title: 'Failed for good, by code',
      sentence: "Tasks that failed, by the code that the caller sees. Codes of the input are the caller's to mend.",
      runbooks: ['MatteTasksFailing'],
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecondSeen('matte_task_failures_total', 'code'), legend: '{{code}}' }],
    },
  ],
}

const answers: Row = {
  title: 'Answers: what do callers hear?',
  panels: [
    {
      title: 'Requests by status',
      sentence: "Answers of the API by HTTP status, its health checks and the store's objects included.",
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecond('matte_http_request_duration_seconds_count', 'status'), legend: '{{status}}' }],
    },
    {
      title: 'Errors by code',
      sentence: 'Answers with an error, by the code in their body.',
      kind: 'lines',
      unit: 'ops',
      queries: [{ expr: perSecondSeen('matte_http_errors_total', 'code'), legend: '{{code}}' }],
    },
    {
      title: 'Errors in the time shown',
      sentence: 'How often each code was sent, and each kind of failure ended a task.',
      kind: 'bars',
      unit: 'none',
      queries: [
        { expr: `${inRange('matte_http_errors_total', 'code')} > 0`, legend: 'answered {{code}}' },
        { expr: `${inRange('matte_task_failures_total', 'code')} > 0`, legend: 'task failed: {{code}}' },
      ],
    },
    {
      title: 'Requests by route',
      sentence: 'What callers use: requests in the time shown.',
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
  title: 'Credits: what was sold, what is held?',
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
      sentence: 'Credits charged in the time shown. Plan `internal` is not charged.',
      kind: 'bars',
      unit: 'none',
      queries: [{ expr: inRange('matte_credits_settled_total', 'plan', 'outcome="charged"'), legend: '{{plan}}' }],
    },
    {
      title: 'Held',
      sentence: 'Credits of tasks that have not ended, read every minute. It follows the queue, down to 0.',
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
      sentence: 'Accounts that their ledger does not explain, tasks charged twice or never settled. Always 0.',
      runbooks: ['MatteInvariantBroken'],
      kind: 'lines',
      unit: 'none',
      thresholds: badFrom(1),
      queries: [{ expr: shared('matte_invariant_violations', 'invariant'), legend: '{{invariant}}' }],
    },
  ],
}

const webhooks: Row = {
  title: 'Webhooks: do receivers hear of it?',
  panels: [
    {
      title: 'Ended, by outcome',
      sentence: 'Arrived, given up after the last attempt, or canceled with their endpoint.',
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecond('matte_deliveries_ended_total', 'outcome'), legend: '{{outcome}}' }],
    },
    {
      title: 'Ended, by event',
      sentence: 'Deliveries that ended in the time shown, of events that were sent.',
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
      sentence: 'Requests to receivers. A failed one is repeated on the schedule of the contract.',
      runbooks: ['MatteWebhooksFailing'],
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecondSeen('matte_delivery_attempts_total', 'outcome'), legend: '{{outcome}}' }],
    },
    {
      title: 'Time of an attempt, p95',
      sentence: 'What receivers take to answer.',
      kind: 'lines',
      unit: 's',
      queries: [{ expr: quantile(0.95, 'matte_delivery_duration_seconds'), legend: 'p95' }],
    },
    {
      title: 'Oldest webhook that is due',
      sentence: 'How long the oldest webhook that nobody has taken up has been due.',
      runbooks: ['MatteDeliveriesOverdue'],
      kind: 'lines',
      unit: 's',
      thresholds: worseFrom(300, 1_800),
      queries: [{ expr: 'max(matte_delivery_due_age_seconds{})', legend: 'oldest' }],
    },
  ],
}

const appApi: Row = {
  title: 'App API: what was paid, what did people hear?',
  panels: [
    {
      title: 'Orders and refunds, by outcome',
      sentence: 'Orders made and paid, charges declined, refunds paid or failed, in the time shown.',
      kind: 'bars',
      unit: 'none',
      queries: [{ expr: `${inRange('matte_payments_total', 'outcome')} > 0`, legend: '{{outcome}}' }],
      emptyBecause: 'nothing may have been ordered',
    },
    {
      title: 'Events of the provider, by outcome',
      sentence: 'What the payment provider sent. Failed ones come again; refused ones were not signed by it.',
      runbooks: ['MattePaymentsOverdue'],
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecondSeen('matte_payment_events_total', 'outcome'), legend: '{{outcome}}' }],
      emptyBecause: 'nothing may have been paid',
    },
    {
      title: 'Payments overdue',
      sentence: 'How long the provider should have been asked, and for how long a refund is not confirmed.',
      runbooks: ['MattePaymentsOverdue'],
      kind: 'lines',
      unit: 's',
      thresholds: worseFrom(600, 3_600),
      queries: [{ expr: 'max by (what) (matte_payment_overdue_seconds{})', legend: '{{what}}' }],
    },
    {
      title: 'Mails, by outcome',
      sentence: 'Mails that ended, each second: sent, refused for good, or given up after three days.',
      runbooks: ['MatteMailsWaiting'],
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecondSeen('matte_mails_ended_total', 'outcome'), legend: '{{outcome}}' }],
      emptyBecause: 'no mail may have been sent',
    },
    {
      title: 'Live streams',
      sentence: 'Streams of task changes that are open.',
      kind: 'lines',
      unit: 'none',
      queries: [{ expr: 'sum(matte_task_streams_open{})', legend: 'open' }],
    },
    {
      title: 'Live streams ended, by reason',
      sentence: 'Streams that ended each second. Slow ones were dropped: their clients took nothing.',
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
  sentence: 'What came, what became of it, what callers heard, what was charged?',
  rows: [tasks, answers, credits, webhooks, appApi],
}
