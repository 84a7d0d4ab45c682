// The part of a pool's spec that says how a new revision takes over.
import { choice, integer, list, number, object } from '../field.ts'
import { podsOrPercent } from './pods-or-percent.ts'

const step = object('One step of a canary.', {
  weight: integer("The new revision's share of the requests, in percent, 1 to 100.", { minimum: 1, maximum: 100 }),
  durationSeconds: integer('How long this share is watched before the next one, in seconds, 0 to 86400. Default 60.', {
    minimum: 0,
    maximum: 86_400,
    default: 60,
  }),
})

export const rollout = object(
  'How a change of the pool rolls out: as a canary beside the revision that serves.',
  {
    strategy: choice(
      'Canary: the new revision serves beside the old one, by steps and gate. Recreate: all old pods stop before new ' +
        'ones start; requests wait meanwhile, and readySeconds is the only gate. Default Canary.',
      ['Canary', 'Recreate'],
      'Canary',
    ),
    maxSurge: podsOrPercent(
      'Pods of both revisions above the desired number, 0 to 1000, or a percentage of it, rounded up. Pods that ' +
        'drain count. A pool with 0 desired pods may have one. Default 1: one slot at a time.',
      1,
    ),
    maxUnavailable: podsOrPercent(
      'Ready pods below the desired number, 0 to 1000, or a percentage of it, rounded down. They are given up if a ' +
        'new pod has no room. If both numbers round to 0, one pod is given up. Default 0: capacity never falls.',
      0,
    ),
    steps: list(
      'Traffic weights of a new revision, ascending, at most 20; after the last step it gets all requests. ' +
        'Empty: everything at once when it is ready. Default 10 % and 50 %, a minute each.',
      step,
      {
        maxItems: 20,
        default: [
          { weight: 10, durationSeconds: 60 },
          { weight: 50, durationSeconds: 60 },
        ],
        rules: [
          {
            rule: 'self.map(s, s.weight).isSorted() && self.all(s, self.exists_one(t, t.weight == s.weight))',
            message: 'the weights of rollout.steps must ascend: put the smallest first and none twice',
          },
        ],
      },
    ),
    gate: object(
      'What a new revision must meet.',
      {
        readySeconds: integer(
          'Time within which the first pod of the new revision must be ready, in seconds, 10 to 86400; otherwise ' +
            "it is rolled back. Default 600, like a Deployment's progressDeadlineSeconds: a GPU node, an image of 10 " +
            'GB and a model took 425 s in a measurement.',
          { minimum: 10, maximum: 86_400, default: 600 },
        ),
        maxErrorRate: number(
          "Share of the new revision's requests that may fail, 0 to 1; above it, and above the old one's, it is " +
            'rolled back. Default 0.02.',
          { minimum: 0, maximum: 1, default: 0.02 },
        ),
        maxLatencyRatio: number(
          "The new revision's mean time of a request in a slot divided by the old one's, 1 to 100; above it, it is " +
            'rolled back. Default 1.5.',
          { minimum: 1, maximum: 100, default: 1.5 },
        ),
        minRequests: integer(
          'Requests that the new revision must serve in a step, counted over the last hour at most, 0 to 100000. 0: ' +
            'a step needs none. Default 50: with fewer, one failure is more than 2 %.',
          { minimum: 0, maximum: 100_000, default: 50 },
        ),
        idle: choice(
          'Action of a step without minRequests. wait: it pauses, and a pool with 0 desired pods starts no pod of ' +
            'the new revision. promote: it ends after ten times its durationSeconds, and a pool with 0 desired pods ' +
            'starts one pod and promotes it when ready. Default wait.',
          ['wait', 'promote'],
          'wait',
        ),
      },
      { default: {} },
    ),
  },
  {
    default: {},
    rules: [
      {
        rule:
          "self.strategy == 'Recreate' || !(self.maxSurge in [dyn(0), dyn('0%')] && " +
          "self.maxUnavailable in [dyn(0), dyn('0%')])",
        message:
          'rollout.maxSurge and rollout.maxUnavailable are both 0, so no pod could be replaced: set one of them to ' +
          '1, or set rollout.strategy to Recreate',
        fieldPath: '.maxUnavailable',
      },
    ],
  },
)
