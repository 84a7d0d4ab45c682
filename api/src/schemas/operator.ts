// Resources of the operators' API: what the installation does now, why, and the page that says what to do. `runbook` is
// the name of a page in charts/matte/runbooks.
import { gateNames, gateVerdicts, type PoolReport, poolStates } from '@matte/core/db/tables/operator'
import type { DecisionRow, PoolSample, ReportedPool, RolloutStepRow } from '@matte/core/pool/pool-queries'
import { type Rollout, rolloutOutcomes } from '@matte/core/pool/rollouts'
import type { UnreportedPool } from '@matte/core/pool/unreported-pools'
import { type InvariantName, invariantNames } from '@matte/core/sample/invariants'
import type { BusyWorkspace, FailingEndpoint } from '@matte/core/sample/load'
import { Type } from 'typebox'
import { type DueItem, dueKinds } from '../overdue.ts'
import { count, named, nullable, oneOf, refer, time, uuid } from './schema.ts'

const text = (description: string) => Type.String({ description })
const seconds = (description: string) => Type.Number({ minimum: 0, description })
const nullableCount = (description: string) => nullable(count(description))
const nullableTime = (description: string) => nullable(time(description))
const runbook = nullable(text('Name of the page that says what to do; null if nothing is wrong.'))
const numbers = Type.Record(Type.String(), Type.Number(), {
  description: 'Inputs of the scaling rule and its terms, by name; docs/autoscaling.md explains them.',
})

export const consoleLinkRequest = Type.Object(
  { code: Type.String({ minLength: 1, maxLength: 200, description: 'The code in the link; it works once.' }) },
  { examples: [{ code: 'console_Zm9yIG9wZXJhdG9ycyBvbmx5LCB0ZW4gbWludXRlcw' }] },
)

export const newOperatorSessionSchema = named(
  'OperatorSessionToken',
  {
    accessToken: text('Send it as `Authorization: Bearer`. It is shown once.'),
    expiresAt: time('8 hours from now.'),
  },
  {
    accessToken: 'operator_ZWlnaHQgaG91cnMgb2YgcmVhZGluZyB0aGUgY29uc29sZQ',
    expiresAt: '2026-11-24T20:00:00.000Z',
  },
)

export const operatorSessionSchema = named(
  'OperatorSession',
  {
    credential: oneOf(['token', 'session'], { description: 'token: the setting `OPERATOR_TOKEN`.' }),
    expiresAt: nullableTime('Null for the setting, which does not expire.'),
  },
  { credential: 'session', expiresAt: '2026-11-24T20:00:00.000Z' },
)

export const endedOperatorSessionSchema = named(
  'EndedOperatorSession',
  { ended: Type.Boolean({ description: 'False for the setting `OPERATOR_TOKEN`, which cannot be ended here.' }) },
  { ended: true },
)

export const overviewSchema = named(
  'OperatorOverview',
  {
    version: text('Version of the API that answered.'),
    readAt: time(),
    maintenance: Type.Boolean({ description: 'New tasks are refused.' }),
    dispatchPaused: Type.Boolean({ description: 'No worker claims tasks.' }),
    batchEnabled: Type.Boolean(),
    accountsEnabled: Type.Boolean(),
    queued: count('Tasks that wait for a claim, counted up to 10,000 per model.'),
    oldestSeconds: seconds('Age of the oldest task that a worker may claim; 0 without one.'),
    models: Type.Array(
      Type.Object({
        modelVersion: Type.String(),
        queued: count(),
        oldestSeconds: seconds('Age of the oldest task that a worker may claim.'),
      }),
    ),
    inFlight: count('Tasks that workers process, counted up to 10,000.'),
    throughput: Type.Object({
      windowSeconds: count('Period of the rates.'),
      succeededPerMinute: Type.Number({ minimum: 0 }),
      failedPerMinute: Type.Number({ minimum: 0, description: 'Tasks that failed for good.' }),
      failedAttemptsPerMinute: Type.Number({
        minimum: 0,
        description: 'Requests that a pod failed; most are retried.',
      }),
      isMinimum: Type.Boolean({ description: 'More tasks ended than were counted.' }),
    }),
    overdue: count('Kinds of work that are late, see `listOverdueWork`.'),
    failingEndpoints: count('Webhook endpoints that fail, counted up to 100.'),
    brokenInvariants: nullableCount('Invariants with violations at the last check; null before the first.'),
    pools: Type.Object({
      total: count(),
      attention: count('Pools with a `runbook`.'),
    }),
  },
  {
    ...{ version: '0.4.0', readAt: '2026-11-24T12:00:00.000Z', maintenance: false, dispatchPaused: false },
    ...{ batchEnabled: true, accountsEnabled: true, queued: 7, oldestSeconds: 1.2 },
    models: [{ modelVersion: 'service-v2', queued: 7, oldestSeconds: 1.2 }],
    inFlight: 4,
    throughput: {
      ...{ windowSeconds: 300, succeededPerMinute: 118.2, failedPerMinute: 0.4, failedAttemptsPerMinute: 1 },
      isMinimum: false,
    },
    ...{ overdue: 0, failingEndpoints: 1, brokenInvariants: 0, pools: { total: 1, attention: 0 } },
  },
)

export const gateSchema = named(
  'RolloutGate',
  {
    gate: oneOf(gateNames),
    verdict: oneOf(gateVerdicts, { description: 'waiting: the step goes on; failed: the canary is rolled back.' }),
    observed: nullable(Type.Number({ description: 'Null: not measured yet.' })),
    limit: nullable(Type.Number({ description: 'The value that `observed` is compared with.' })),
    sentence: Type.String(),
  },
  {
    ...{ gate: 'errorRate', verdict: 'passed', observed: 0.01, limit: 0.05 },
    sentence: '3 of 300 requests failed (5 % are allowed, the old revision has 0 %).',
  },
)

const liveRolloutSchema = nullable(
  Type.Object(
    {
      stable: text('The revision that serves.'),
      canary: text('The revision that is being tried.'),
      step: Type.Integer({ description: 'Index of the step; -1 until the canary is ready.' }),
      steps: count('Number of steps; `step` equals it while the canary takes over.'),
      weight: Type.Integer({ minimum: 0, maximum: 100, description: "The canary's share of the requests in percent." }),
      waitingFor: nullable(text('Room, Requests or Demand; null while the rollout does not wait.')),
      sentence: Type.String(),
      gates: Type.Array(refer(gateSchema)),
    },
    { description: 'The step of the rollout now and its gates; null without a rollout in progress.' },
  ),
)

const conditionSchema = Type.Object({
  type: text('Such as Ready, Degraded or ScalingLimited; docs/tritonpool-reference.md has all.'),
  status: text('True, False or Unknown.'),
  reason: Type.String(),
  message: text('Explanation, and what to do.'),
  since: time('When `status` last changed.'),
})

export const sources = ['operator', 'workers'] as const
export const shownStates = [...poolStates, 'stale', 'unreported'] as const

export const operatorPoolSchema = named(
  'OperatorPool',
  {
    namespace: nullable(text('Null without a TritonPool.')),
    name: Type.String(),
    source: oneOf(sources, {
      description: 'workers: the operator has not reported this pool. Its pods come from `MODELS_STATIC`.',
    }),
    state: oneOf(shownStates, {
      description: 'stale: the last report is older than a minute. unreported: there is none.',
    }),
    reportedAt: nullableTime('When the operator last reported the pool.'),
    models: Type.Array(text('Model versions.')),
    wanted: nullableCount('Desired pods.'),
    ready: nullableCount('Pods that serve.'),
    starting: nullableCount('Pods that start.'),
    draining: nullableCount('Pods that finish their requests.'),
    minReplicas: nullableCount('Bounds in force, with schedules.'),
    maxReplicas: nullableCount('Null if an external owner decides.'),
    slotsPerPod: nullableCount('Requests that a pod serves at once.'),
    queue: nullableCount('Requests that wait and may run now, slots for batches included; null if it cannot be read.'),
    processing: nullableCount('Tasks that workers have claimed.'),
    inFlight: nullableCount('Requests in the pods, as workers report them each second.'),
    oldestSeconds: nullable(seconds('Age of the single request that has waited longest.')),
    p95Seconds: nullable(seconds('95 % of the last minute were done within this time.')),
    rule: nullable(text('The scaling rule that won, such as rate, backlog, minimum or stabilization.')),
    sentence: text('The last decision in words.'),
    numbers,
    conditions: Type.Array(conditionSchema),
    rollout: liveRolloutSchema,
    runbook,
  },
  {
    ...{ namespace: 'matte', name: 'default', source: 'operator', state: 'ready' },
    ...{
      reportedAt: '2026-11-24T11:59:52.000Z',
      models: ['service-v2'],
      wanted: 2,
      ready: 2,
      starting: 0,
      draining: 0,
    },
    ...{ minReplicas: 1, maxReplicas: 6, slotsPerPod: 2, queue: 3, processing: 4, inFlight: 4, oldestSeconds: 0.4 },
    ...{ p95Seconds: 1.1, rule: 'rate' },
    sentence: '2 pods: 4.2 requests/s of 0.62 s at 70 % load need 1.86.',
    numbers: { rate: 4.2, serviceSeconds: 0.62, steadyPods: 1.86, wantedPods: 2, readyPods: 2 },
    conditions: [
      {
        ...{ type: 'Ready', status: 'True', reason: 'PodsReady', message: 'All pods are ready.' },
        since: '2026-11-24T09:00:00.000Z',
      },
    ],
    ...{ rollout: null, runbook: null },
  },
)

export const poolSamplesSchema = named(
  'PoolSamples',
  {
    namespace: Type.String(),
    name: Type.String(),
    minutes: count(),
    stepSeconds: count('Distance of two points.'),
    samples: Type.Array(
      Type.Object({
        at: time('Start of the step.'),
        wanted: count('The highest of the step, as all that follow.'),
        ready: count('The lowest of the step.'),
        starting: count(),
        draining: count(),
        queue: nullableCount('Null if the demand could not be read.'),
        processing: nullable(count()),
        inFlight: nullable(count()),
        oldestSeconds: nullable(Type.Number()),
        p95Seconds: nullable(Type.Number()),
      }),
      { description: 'Oldest first. A step without a leader has no point.' },
    ),
  },
  {
    ...{ namespace: 'matte', name: 'default', minutes: 60, stepSeconds: 15 },
    samples: [
      {
        ...{ at: '2026-11-24T11:59:45.000Z', wanted: 2, ready: 2, starting: 0, draining: 0, queue: 3, processing: 4 },
        ...{ inFlight: 4, oldestSeconds: 0.4, p95Seconds: 1.1 },
      },
    ],
  },
)

export const scalingDecisionSchema = named(
  'ScalingDecision',
  {
    id: uuid(),
    namespace: Type.String(),
    pool: Type.String(),
    at: time(),
    kind: oneOf(['change', 'hold'], { description: 'hold: the number stays, for another reason than before.' }),
    from: count('Desired pods before.'),
    to: count('Desired pods after the decision.'),
    rule: text('The rule that won.'),
    sentence: text('The decision in words.'),
    numbers,
    runbook,
  },
  {
    ...{ id: '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1', namespace: 'matte', pool: 'default' },
    ...{ at: '2026-11-24T11:31:07.000Z', kind: 'change', from: 1, to: 2, rule: 'rate' },
    sentence: '2 pods: 4.2 requests/s of 0.62 s at 70 % load need 1.86.',
    numbers: { rate: 4.2, serviceSeconds: 0.62, steadyPods: 1.86, wantedPods: 2 },
    runbook: null,
  },
)

export const rolloutSchema = named(
  'Rollout',
  {
    namespace: Type.String(),
    pool: Type.String(),
    revision: text('The canary.'),
    stable: nullable(text('The revision that serves beside it.')),
    outcome: oneOf(rolloutOutcomes, { description: 'superseded: another revision took its place.' }),
    startedAt: nullableTime('Null if it started more than 7 days ago.'),
    endedAt: nullableTime('Null while it is in progress.'),
    live: liveRolloutSchema,
    steps: Type.Array(
      Type.Object({
        at: time(),
        event: text('RolloutStarted, RolloutStep, RolloutPaused, RolloutResumed or how the rollout ended.'),
        step: Type.Integer({ description: 'Index of the step that begins.' }),
        weight: count('Share of the requests in percent.'),
        sentence: Type.String(),
        gates: Type.Array(refer(gateSchema), { description: 'Gates of the step that ended.' }),
      }),
      { description: 'Oldest first.' },
    ),
    runbook,
  },
  {
    ...{ namespace: 'matte', pool: 'default', revision: '9be07d42', stable: '5d0c1f3a', outcome: 'rolledBack' },
    ...{ startedAt: '2026-11-24T10:00:00.000Z', endedAt: '2026-11-24T10:07:30.000Z', live: null },
    steps: [
      {
        ...{ at: '2026-11-24T10:07:30.000Z', event: 'RolloutRolledBack', step: 0, weight: 0 },
        sentence: 'Revision 9be07d42 is rolled back and 5d0c1f3a keeps serving: 31 of 120 requests failed.',
        gates: [
          {
            gate: 'errorRate',
            verdict: 'failed',
            observed: 0.258,
            limit: 0.05,
            sentence: '31 of 120 requests failed.',
          },
        ],
      },
    ],
    runbook: 'MattePoolRolledBack',
  },
)

export const busyWorkspaceSchema = named(
  'BusyWorkspace',
  {
    id: uuid(),
    name: Type.String(),
    kind: oneOf(['personal', 'team']),
    plan: Type.String(),
    queued: count(),
    processing: count(),
    tasksLastHour: count('Ended tasks among the newest 10,000 of the installation.'),
    failedLastHour: count(),
  },
  {
    ...{ id: '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1', name: 'Example shop', kind: 'team', plan: 'pro' },
    ...{ queued: 40, processing: 8, tasksLastHour: 900, failedLastHour: 2 },
  },
)

export const failingEndpointSchema = named(
  'FailingEndpoint',
  {
    id: uuid(),
    workspaceId: uuid(),
    workspaceName: Type.String(),
    targetHost: text('Host and port. The URL is not shown, because it may contain a secret.'),
    failingSince: time('The first failure after the last success.'),
    failedAt: nullableTime('The last failure.'),
    waitingDeliveries: count('Counted up to 1,000.'),
    droppedDeliveries: count('Paused deliveries that expired.'),
    runbook: Type.String(),
  },
  {
    ...{ id: '6c1f0f6e-53f4-4c61-8a39-58bd0ad5f20e', workspaceId: '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1' },
    ...{ workspaceName: 'Example shop', targetHost: 'hooks.example.com:443', failingSince: '2026-11-23T08:00:00.000Z' },
    ...{ failedAt: '2026-11-24T11:58:00.000Z', waitingDeliveries: 12, droppedDeliveries: 0 },
    runbook: 'MatteWebhooksFailing',
  },
)

export const overdueSchema = named(
  'OverdueWork',
  {
    what: oneOf(dueKinds),
    ageSeconds: count('Time that the oldest has been due; 0 if nothing is due.'),
    lateAfterSeconds: count('Default threshold of the alert; a chart value may differ.'),
    isLate: Type.Boolean(),
    waiting: nullableCount('Due items, counted up to 10,000; null: not counted.'),
    runbook: Type.String(),
  },
  {
    ...{ what: 'deliveries', ageSeconds: 2_400, lateAfterSeconds: 1_800, isLate: true, waiting: 310 },
    runbook: 'MatteDeliveriesOverdue',
  },
)

export const invariantsSchema = named(
  'Invariants',
  {
    checkedAt: time('A check is reused for a minute.'),
    items: Type.Array(
      Type.Object({
        invariant: oneOf(invariantNames),
        description: Type.String(),
        ok: Type.Boolean(),
        violations: count('Rows, counted up to 100 among recently changed ones.'),
        ids: Type.Array(Type.String(), { description: 'At most 20: lots, tasks, deliveries or workspaces.' }),
        runbook,
      }),
    ),
  },
  {
    checkedAt: '2026-11-24T12:00:00.000Z',
    items: [
      {
        ...{ invariant: 'charged_twice', description: 'No task is charged for two runs.', ok: true, violations: 0 },
        ...{ ids: [], runbook: null },
      },
    ],
  },
)

const staleSeconds = 60

/** Pages for the states of a pool, the first that applies. */
function runbookOf({ state, conditions, wanted, maxReplicas, queue }: PoolReport, isStale: boolean): string | null {
  const isTrue = (type: string): boolean => conditions.some((one) => one.type === type && one.status === 'True')
  if (state === 'closed') return 'MattePoolClosed'
  if (isStale) return 'MatteNoLeader'
  if (state === 'degraded') return 'MattePoolDegraded'
  if (isTrue('RolledBack')) return 'MattePoolRolledBack'
  return maxReplicas !== null && wanted >= maxReplicas && (queue ?? 0) > 0 ? 'MattePoolAtMax' : null
}

export function toReportedPoolView({ namespace, pool, at, ageSeconds, report }: ReportedPool) {
  const isStale = ageSeconds > staleSeconds
  const state = isStale && report.state !== 'closed' ? ('stale' as const) : report.state
  const shown = { ...report, conditions: [...report.conditions], models: [...report.models] }
  const rollout = report.rollout && { ...report.rollout, gates: [...report.rollout.gates] }
  return {
    ...{ namespace, name: pool, source: 'operator' as const, reportedAt: at.toISOString() },
    ...{ ...shown, state, rollout, runbook: runbookOf(report, isStale) },
  }
}

export const toUnreportedPoolView = ({ pool, models, demand }: UnreportedPool) => ({
  ...{ namespace: null, name: pool, source: 'workers' as const, state: 'unreported' as const, reportedAt: null },
  models: [...models],
  ...{ wanted: null, ready: null, starting: null, draining: null, minReplicas: null, maxReplicas: null },
  ...{ slotsPerPod: null, inFlight: null, rule: null, rollout: null, runbook: null, conditions: [] },
  queue: demand ? demand.backlog + demand.batchSlots : null,
  processing: demand?.processing ?? null,
  oldestSeconds: demand?.oldestSeconds ?? null,
  p95Seconds: demand?.p95Seconds ?? null,
  sentence:
    'No operator decides about this pool: its pods are those of MODELS_STATIC, or the operator has not run yet.',
  numbers: demand ? toNumbers(demand) : {},
})

const toNumbers = (demand: object): Record<string, number> =>
  Object.fromEntries(Object.entries(demand).filter((entry): entry is [string, number] => typeof entry[1] === 'number'))

export const toSampleView = ({ at, ...counts }: PoolSample) => ({ at: at.toISOString(), ...counts })

export const toDecisionView = (row: DecisionRow) => ({
  ...{ id: row.id, namespace: row.namespace, pool: row.pool, at: row.at.toISOString() },
  kind: row.from_replicas === row.to_replicas ? ('hold' as const) : ('change' as const),
  ...{ from: row.from_replicas, to: row.to_replicas, rule: row.rule, sentence: row.sentence },
  numbers: { ...row.numbers },
  runbook: row.rule === 'maximum' ? 'MattePoolAtMax' : null,
})

const toStepView = ({ at, event, step, weight, sentence, gates }: RolloutStepRow) => ({
  ...{ at: at.toISOString(), event, step, weight, sentence, gates: [...gates] },
})

/** `live`: the rollout in the last report of the pool. */
export function toRolloutView({ startedAt, endedAt, steps, ...rollout }: Rollout, live: PoolReport['rollout']) {
  const isLive = rollout.outcome === 'inProgress' && live?.canary === rollout.revision
  return {
    ...rollout,
    startedAt: startedAt?.toISOString() ?? null,
    endedAt: endedAt?.toISOString() ?? null,
    live: isLive ? { ...live, gates: [...live.gates] } : null,
    steps: steps.map(toStepView),
    runbook: rollout.outcome === 'rolledBack' ? 'MattePoolRolledBack' : null,
  }
}

export const toBusyWorkspaceView = (workspace: BusyWorkspace) => ({ ...workspace })

export const toFailingEndpointView = ({ failingSince, failedAt, ...endpoint }: FailingEndpoint) => ({
  ...endpoint,
  failingSince: failingSince.toISOString(),
  failedAt: failedAt?.toISOString() ?? null,
  runbook: 'MatteWebhooksFailing',
})

export const toOverdueView = (item: DueItem) => ({ ...item })

const descriptions: Readonly<Record<InvariantName, string>> = {
  ledger_balance: "A lot's columns equal the sums of its ledger entries.",
  charged_twice: 'A hold ends once, and no task is charged for two runs.',
  ended_unsettled: 'No ended task has an open hold: it is captured after a charged success and released otherwise.',
  delivered_twice: 'No delivery succeeds twice.',
  task_counts: "A workspace's counters equal its queued and processing tasks.",
}

const idsMax = 20

export type Violations = readonly (readonly [InvariantName, readonly string[]])[]

export const toInvariantsView = ({ checkedAt, found }: { readonly checkedAt: Date; readonly found: Violations }) => ({
  checkedAt: checkedAt.toISOString(),
  items: found.map(([invariant, ids]) => ({
    ...{ invariant, description: descriptions[invariant], ok: ids.length === 0, violations: ids.length },
    ids: ids.slice(0, idsMax),
    runbook: ids.length === 0 ? null : 'MatteInvariantBroken',
  })),
})
