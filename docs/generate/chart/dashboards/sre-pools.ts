// The rows of the SRE dashboard about Triton pods.
import type { Panel, Row } from './panel.ts'
import { quantile, quantiles } from './quantiles.ts'
import { inRange, perSecond } from './rates.ts'
import { worseFrom } from './thresholds.ts'

const pods = (what: string): string => `matte_pool_demand{term="${what}"}`

/** Only the leader exports these; `max` covers the moment in which two replicas act as leader. */
const perPool = (metric: string, by = 'pool'): string => `max by (namespace, ${by}) (${metric})`

const ofPools = (panels: readonly Omit<Panel, 'needs'>[]): readonly Panel[] =>
  panels.map((panel) => ({ ...panel, needs: 'pools' }))

export const autoscaling: Row = {
  title: 'Autoscaling: which rule decided what?',
  panels: ofPools([
    {
      title: 'Pods of a pool',
      sentence: 'Desired, ready and draining pods. If desired stays above ready, pods fail to start.',
      runbooks: ['MattePoolAtMax'],
      kind: 'lines',
      unit: 'none',
      queries: [
        { expr: perPool('matte_pool_replicas{}', 'pool, state'), legend: '{{pool}} {{state}}' },
        { expr: perPool('matte_pool_replicas_limit{}', 'pool, bound'), legend: '{{pool}} {{bound}}' },
      ],
    },
    {
      title: 'Pods required by the rule',
      sentence: 'Pods needed for the arrival rate, the backlog and batches. The largest applies, within the limits.',
      kind: 'lines',
      unit: 'short',
      queries: [
        { expr: perPool(pods('steadyPods')), legend: '{{pool}} rate' },
        { expr: perPool(pods('backlogPods')), legend: '{{pool}} backlog' },
        { expr: perPool(pods('batchPods')), legend: '{{pool}} batch' },
        { expr: perPool(pods('stabilizedPods')), legend: '{{pool}} stabilized' },
      ],
    },
    {
      title: 'Decisions in the selected time, by rule',
      sentence: 'Changes of the number of pods by each rule. docs/autoscaling.md explains the rules.',
      kind: 'bars',
      unit: 'none',
      queries: [
        {
          expr: `${inRange('matte_scale_decisions_total', 'pool, rule, direction')} > 0`,
          legend: '{{pool}} {{direction}}: {{rule}}',
        },
      ],
    },
    {
      title: 'Decisions, by rule',
      sentence: 'Times of changes of the number of pods, and their rules.',
      kind: 'stack',
      unit: 'short',
      queries: [
        {
          expr: 'sum by (rule, direction) (increase(matte_scale_decisions_total{}[RATE])) > 0',
          legend: '{{direction}}: {{rule}}',
        },
      ],
    },
    {
      title: 'Delay of scaling up',
      sentence: 'Time from the oldest waiting request to the decision. The target is two seconds.',
      kind: 'lines',
      unit: 's',
      thresholds: worseFrom(2, 10),
      queries: quantiles('matte_scale_decision_delay_seconds'),
      emptyBecause: 'a quantile needs a decision within the last minutes',
    },
    {
      title: 'Start of a pod, mean of each phase',
      sentence: 'Phases of a cold start: scheduled, image pulled, Triton started, models loaded, warm.',
      kind: 'bars',
      unit: 's',
      queries: [
        {
          expr:
            'sum by (phase) (increase(matte_pod_start_phase_seconds_sum{}[RANGE])) ' +
            '/ sum by (phase) (increase(matte_pod_start_phase_seconds_count{}[RANGE]) > 0)',
          legend: '{{phase}}',
        },
      ],
      emptyBecause: 'no pod may have started in the time shown',
    },
  ]),
}

export const rollouts: Row = {
  title: 'Drains and rollouts: what changes under load?',
  panels: ofPools([
    {
      title: 'Draining pods',
      sentence: 'Pods that finish their requests and get no new ones, at most for their grace period.',
      kind: 'stack',
      unit: 'none',
      queries: [{ expr: perPool('matte_pool_replicas{state="draining"}'), legend: '{{pool}}' }],
    },
    {
      title: "Canary's share",
      sentence: "Percentage of the pool's requests for the new revision. 0: no rollout in progress.",
      kind: 'lines',
      unit: 'none',
      queries: [{ expr: perPool('matte_pool_canary_weight{}'), legend: '{{pool}}' }],
    },
    {
      title: 'Rollouts in the selected time',
      sentence: "By outcome. The pool's condition RolledBack names a revision that was rolled back.",
      kind: 'bars',
      unit: 'none',
      queries: [{ expr: inRange('matte_rollouts_total', 'pool, outcome'), legend: '{{pool}} {{outcome}}' }],
    },
    {
      title: 'Requests in flight, by revision',
      sentence: 'Used slots of the pods, by revision.',
      kind: 'stack',
      unit: 'none',
      queries: [{ expr: 'sum by (pool, revision) (matte_pod_slots_used{})', legend: '{{pool}} {{revision}}' }],
      emptyBecause: 'a revision without a request has no series',
    },
    {
      title: 'Active conditions',
      sentence: 'Conditions with status True. Degraded and RolledBack need an operator.',
      runbooks: ['MattePoolDegraded'],
      kind: 'bars',
      unit: 'none',
      queries: [
        { expr: `${perPool('matte_pool_condition{}', 'pool, condition')} == 1`, legend: '{{pool}} {{condition}}' },
      ],
    },
    {
      title: 'Pods in the routing lists',
      sentence: 'Minimum and maximum over the workers. A difference means that endpoints arrive late.',
      kind: 'lines',
      unit: 'none',
      queries: [
        { expr: 'min(matte_pods_ready{})', legend: 'fewest' },
        { expr: 'max(matte_pods_ready{})', legend: 'most' },
      ],
    },
  ]),
}

export const operator: Row = {
  title: 'Operator: does the leader reconcile the pools?',
  panels: ofPools([
    {
      title: 'Reconcile passes, by outcome',
      sentence: 'One per second and pool. Conflicts are retried; failures are logged with their reason.',
      runbooks: ['MatteReconcileFailing'],
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecond('matte_reconcile_total', 'outcome'), legend: '{{outcome}}' }],
    },
    {
      title: 'Duration of a reconcile pass, p95',
      sentence: 'Above a second, the Kubernetes API server is slow or rejects requests.',
      kind: 'lines',
      unit: 's',
      thresholds: worseFrom(1, 5),
      queries: [{ expr: quantile(0.95, 'matte_reconcile_seconds', { by: ['queue'] }), legend: '{{queue}}' }],
    },
    {
      title: 'Watch restarts and missed objects',
      sentence: 'Watches end regularly. A list every ten minutes finds missed objects.',
      runbooks: ['MatteWatchRestarting'],
      kind: 'lines',
      unit: 'ops',
      queries: [
        {
          expr: perSecond('matte_kube_watch_restarts_total', 'resource, reason'),
          legend: '{{resource}}: {{reason}}',
        },
        { expr: perSecond('matte_kube_drift_total', 'resource'), legend: '{{resource}}: missed' },
      ],
      emptyBecause: 'a watch is counted from its first restart on',
    },
    {
      title: 'Unreadable namespaces',
      sentence: "Their pools stay unchanged. The chart's Roles are missing, or the namespace was deleted.",
      runbooks: ['MatteNamespaceUnreadable'],
      kind: 'lines',
      unit: 'none',
      queries: [
        { expr: 'min by (watched_namespace) (matte_kube_namespace_readable{}) == 0', legend: '{{watched_namespace}}' },
      ],
      emptyBecause: 'every watched namespace can be read',
    },
    {
      title: 'Leader, by pod',
      sentence: 'The current leader. It changes after a restart, or if the Lease was not renewed in time.',
      runbooks: ['MatteNoLeader', 'MatteTwoLeaders'],
      kind: 'lines',
      unit: 'none',
      queries: [{ expr: 'max by (pod) (matte_leader{})', legend: '{{pod}}' }],
    },
    {
      title: 'Closed pools',
      sentence: "1: Kubernetes rejects the leader's fencing token, so the operator cannot change the pool.",
      runbooks: ['MattePoolClosed'],
      kind: 'lines',
      unit: 'none',
      queries: [{ expr: perPool('matte_pool_closed{}'), legend: '{{pool}}' }],
    },
  ]),
}
