// The part of a pool's spec that says how a pod goes.
import { integer, object } from '../field.ts'

export const drain = object(
  {
    routeStopSeconds: integer({
      description:
        'How long a pod that is to go waits before it stops Triton, so that every controller has stopped sending to ' +
        'it, in seconds, 1 to 300. Default 5: endpoints travel in one to two.',
      minimum: 1,
      maximum: 300,
      default: 5,
    }),
    exitTimeoutSeconds: integer({
      description:
        'How long Triton then waits for images in flight, in seconds, 1 to 3600. Default 30: the longest that the ' +
        'controller waits for one image, and what Triton takes by itself.',
      minimum: 1,
      maximum: 3600,
      default: 30,
    }),
    graceSeconds: integer({
      description:
        'After which Kubernetes kills the pod whatever it does, in seconds, 8 to 7200; more than the other two and 5. ' +
        'Default 45.',
      minimum: 8,
      maximum: 7200,
      default: 45,
    }),
  },
  {
    description: 'How a pod goes without losing an image.',
    default: {},
    rules: [
      {
        rule: 'self.graceSeconds > self.routeStopSeconds + self.exitTimeoutSeconds + 5',
        message:
          'graceSeconds must be more than routeStopSeconds + exitTimeoutSeconds + 5, or images in flight are killed: ' +
          'raise graceSeconds',
        fieldPath: '.graceSeconds',
      },
    ],
  },
)
