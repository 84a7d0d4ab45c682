import { Type } from 'typebox'
import { choice, integer, list, number, object } from '../field.ts'

const podsOrPercent = (description: string, defaultValue: number) =>
  Type.Unsafe<number | string>({
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    description,
    minimum: 0,
    maximum: 1_000,
    pattern: '^([0-9]|[1-9][0-9]|100)%$',
    maxLength: 4,
    'x-kubernetes-int-or-string': true,
    default: defaultValue,
  })

const step = object('One step of a canary.', {
  weight: integer("The new revision's share of the requests, in percent, 1 to 100.", { minimum: 1, maximum: 100 }),
  durationSeconds: integer('Duration of the step, in seconds, 0 to 86400. Default 60.', {
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
        'ones start; requests wait, and readySeconds is the only gate. Default Canary.',
      ['Canary', 'Recreate'],
      'Canary',
    ),
    maxSurge: podsOrPercent(
      'Maximum pods of both revisions above the desired number, 0 to 1000, or a percentage of it, rounded up. ' +
        'Draining pods count. A pool with 0 desired pods may have one. Default 1: one slot at a time.',
      1,
    ),
    maxUnavailable: podsOrPercent(
      'Maximum ready pods below the desired number, 0 to 1000, or a percentage of it, rounded down. Old pods stop if ' +
        'a new pod has no room. If both numbers round to 0, one pod may stop. Default 0: capacity never falls.',
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
            message: 'the weights of rollout.steps must ascend without duplicates',
          },
        ],
      },
    ),
    gate: object(
      'Conditions for a new revision.',
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
          "Maximum of the new revision's mean request time divided by the old one's, 1 to 100; above it, it is rolled " +
            'back. Default 1.5.',
          { minimum: 1, maximum: 100, default: 1.5 },
        ),
        minRequests: integer(
          'Minimum requests of the new revision in a step, counted over the last hour at most, 0 to 100000. Default ' +
            '50: with fewer, one failure is more than 2 %.',
          { minimum: 0, maximum: 100_000, default: 50 },
        ),
        idle: choice(
          'Action of a step without minRequests. wait: the step pauses, and a pool with 0 desired pods starts no pod ' +
            'of the new revision. promote: the step ends after ten times its durationSeconds, and a pool with 0 ' +
            'desired pods starts one pod and promotes it when ready. Default wait.',
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
