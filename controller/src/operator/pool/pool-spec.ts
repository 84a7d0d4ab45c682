import { type Static, Type } from 'typebox'
import { flag, object } from './field.ts'
import { models } from './spec/models.ts'
import { drain, podFields, podPatch } from './spec/pod.ts'
import { rollout } from './spec/rollout.ts'
import { replicas, scaling } from './spec/scaling.ts'

export const specSchema = object(
  'Desired state.',
  {
    models,
    default: flag(
      'Whether this pool serves `service-v2` and requests without a modelVersion. If two pools set it, the older ' +
        'one serves them, and the other is Degraded with reason DefaultConflict.',
      false,
    ),
    ...podFields,
    replicas: Type.Optional(
      replicas(
        'Desired pods, 0 to 1000: the field of the scale subresource. Required with scaling.owner external, refused ' +
          'otherwise.',
      ),
    ),
    scaling,
    rollout,
    drain,
    podPatch,
  },
  {
    rules: [
      {
        rule: "self.scaling.owner == 'external' || !has(self.replicas)",
        message:
          'replicas is decided by Matte: remove it and set scaling.minReplicas and scaling.maxReplicas, or set ' +
          'scaling.owner to external',
        fieldPath: '.replicas',
      },
      {
        rule: "self.scaling.owner != 'external' || has(self.replicas)",
        message:
          'an external owner needs an initial number, because the scale subresource cannot be read without it: ' +
          'set spec.replicas',
        fieldPath: '.scaling.owner',
      },
    ],
  },
)

export type PoolSpec = Static<typeof specSchema>
export type PoolRollout = PoolSpec['rollout']
