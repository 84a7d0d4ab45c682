// The rows of the SRE dashboard about Triton pods.
import type { Panel, Row } from './panel.ts'
import { quantile, quantiles } from './quantiles.ts'
import { inRange, perSecond } from './rates.ts'
import { worseFrom } from './thresholds.ts'

const pods = (what: string): string => `matte_pool_demand{term="${what}"}`

/** The leader alone has these; `max` bridges the moment in which two replicas believe that they lead. */
const perPool = (metric: string, by = 'pool'): string => `max by (namespace, ${by}) (${metric})`

const ofPools = (panels: readonly Omit<Panel, 'needs'>[]): readonly Panel[] =>
  panels.map((panel) => ({ ...panel, needs: 'pools' }))

export const autoscaling: Row = {
  title: 'Autoscaling: what was decided, by which rule?',
  panels: ofPools([
    {
      title: 'Pods of a pool',
      sentence: 'Desired, ready and draining. Desired above ready for long: pods do not start.',
      runbooks: ['MattePoolAtMax'],
      kind: 'lines',
      unit: 'none',
      queries: [
        { expr: perPool('matte_pool_replicas{}', 'pool, state'), legend: '{{pool}} {{state}}' },
        { expr: perPool('matte_pool_replicas_limit{}', 'pool, bound'), legend: '{{pool}} {{bound}}' },
      ],
    },
    {
      title: 'What the rule wants',
      sentence: 'Pods for the rate of arrivals, for the backlog and for batches; the largest wins, within the bounds.',
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
      title: 'Decisions in the time shown, by rule',
      sentence: 'How often each rule changed the number of pods, up or down. docs/autoscaling.md explains the rules.',
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
      sentence: 'When the number of pods changed, and by which rule.',
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
      title: 'From the oldest waiting request to more pods',
      sentence: 'How late the decision came. It is meant to come within two seconds.',
      kind: 'lines',
      unit: 's',
      thresholds: worseFrom(2, 10),
      queries: quantiles('matte_scale_decision_delay_seconds'),
      emptyBecause: 'a quantile needs a decision within the last minutes',
    },
    {
      title: 'Start of a pod, mean of each phase',
      sentence: 'Scheduled, image there, Triton started, models loaded, warm. What a cold start consists of.',
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
      title: 'Pods that drain',
      sentence: 'Pods that get no new requests and finish those they have. They stay for their grace period at most.',
      kind: 'stack',
      unit: 'none',
      queries: [{ expr: perPool('matte_pool_replicas{state="draining"}'), legend: '{{pool}}' }],
    },
    {
      title: "Canary's share",
      sentence: 'Requests that a new revision gets, in percent of the pool. 0: no rollout is in progress.',
      kind: 'lines',
      unit: 'none',
      queries: [{ expr: perPool('matte_pool_canary_weight{}'), legend: '{{pool}}' }],
    },
    {
      title: 'Rollouts in the time shown',
      sentence: 'By outcome. A rolled back revision is named in the condition RolledBack of its pool.',
      kind: 'bars',
      unit: 'none',
      queries: [{ expr: inRange('matte_rollouts_total', 'pool, outcome'), legend: '{{pool}} {{outcome}}' }],
    },
    {
      title: 'Requests in flight, by revision',
      sentence: 'Slots of pods that workers have requests in: how the load moves from one revision to the next.',
      kind: 'stack',
      unit: 'none',
      queries: [{ expr: 'sum by (pool, revision) (matte_pod_slots_used{})', legend: '{{pool}} {{revision}}' }],
      emptyBecause: 'a revision without a request has no series',
    },
    {
      title: 'Conditions that hold',
      sentence: "Conditions of the pools' status that are true. Degraded and RolledBack need a person.",
      runbooks: ['MattePoolDegraded'],
      kind: 'bars',
      unit: 'none',
      queries: [
        { expr: `${perPool('matte_pool_condition{}', 'pool, condition')} == 1`, legend: '{{pool}} {{condition}}' },
      ],
    },
    {
      title: 'Pods that workers send to',
      sentence: 'The worker that sees the fewest, and the one that sees the most. Apart: endpoints arrive late.',
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
  title: 'Operator: does the leader get its work done?',
  panels: ofPools([
    {
      title: 'Reconcile passes, by outcome',
      sentence: 'One a second for each pool. Conflicts are tried again; failures are logged with their reason.',
      runbooks: ['MatteReconcileFailing'],
      kind: 'stack',
      unit: 'ops',
      queries: [{ expr: perSecond('matte_reconcile_total', 'outcome'), legend: '{{outcome}}' }],
    },
    {
      title: 'Time of a reconcile pass, p95',
      sentence: 'Above a second, the API server of Kubernetes is slow, or refuses.',
      kind: 'lines',
      unit: 's',
      thresholds: worseFrom(1, 5),
      queries: [{ expr: quantile(0.95, 'matte_reconcile_seconds', { by: ['queue'] }), legend: '{{queue}}' }],
    },
    {
      title: 'Watches that began again, objects that they had missed',
      sentence: 'Watches end regularly. Missed objects are found by the comparing list, every ten minutes.',
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
      title: 'Watched namespaces that cannot be read',
      sentence: 'Pools there stay as they are. The Roles of the chart are missing, or the namespace was deleted.',
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
      sentence: 'Which operator leads. A change is a restart, or a Lease that was not renewed in time.',
      runbooks: ['MatteNoLeader', 'MatteTwoLeaders'],
      kind: 'lines',
      unit: 'none',
      queries: [{ expr: 'max by (pod) (matte_leader{})', legend: '{{pod}}' }],
    },
    {
      title: 'Pools that are closed',
      sentence: '1: Kubernetes refuses the fencing token of the leader, so the operator changes nothing of the pool.',
      runbooks: ['MattePoolClosed'],
      kind: 'lines',
      unit: 'none',
      queries: [{ expr: perPool('matte_pool_closed{}'), legend: '{{pool}}' }],
    },
  ]),
}
