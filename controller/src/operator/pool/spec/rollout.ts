// The part of a pool's spec that says how a new revision takes over.
import { integer, list, number, object } from '../field.ts'

const step = object(
  {
    weight: integer({
      description: "The new revision's share of the images, in percent, 1 to 100.",
      minimum: 1,
      maximum: 100,
    }),
    durationSeconds: integer({
      description: 'How long this share is watched before the next one, in seconds, 0 to 86400. Default 60.',
      minimum: 0,
      maximum: 86_400,
      default: 60,
    }),
  },
  { description: 'One step of a canary.' },
)

export const rollout = object(
  {
    steps: list(step, {
      description:
        'The shares by which a new revision takes over, ascending, at most 20; after the last it has everything. ' +
        'Empty: everything at once when it is ready. Default 10 % and 50 %, a minute each.',
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
    }),
    gate: object(
      {
        readySeconds: integer({
          description:
            'How long the new revision may take until its first pod is ready, in seconds, 10 to 86400; later it is ' +
            "rolled back. Default 600, as a Deployment's progressDeadlineSeconds: a GPU node, an image of 10 GB and a " +
            'model have been seen to take 425.',
          minimum: 10,
          maximum: 86_400,
          default: 600,
        }),
        maxErrorRate: number({
          description:
            "Share of the new revision's images that may fail, 0 to 1; above it, and above the old one's, it is " +
            'rolled back. Default 0.02.',
          minimum: 0,
          maximum: 1,
          default: 0.02,
        }),
        maxLatencyRatio: number({
          description:
            "The new revision's mean time of an image in a slot divided by the old one's, 1 to 100; above it, it is " +
            'rolled back. Default 1.5.',
          minimum: 1,
          maximum: 100,
          default: 1.5,
        }),
        minRequests: integer({
          description:
            'Images that the new revision must have done in a step before it is judged, 0 to 100000. A step that has ' +
            'lasted ten times its durationSeconds without so many goes on: nobody was there to notice. Default 50: with ' +
            'fewer, one failure is already 2 %.',
          minimum: 0,
          maximum: 100_000,
          default: 50,
        }),
      },
      { description: 'What a new revision must hold to.', default: {} },
    ),
  },
  { description: 'How a changed pool goes out: as a canary beside the revision that serves.', default: {} },
)
