// The part of a pool's spec that says how a pod drains.
import { integer, object } from '../field.ts'

export const drain = object(
  'How a pod drains without losing a request.',
  {
    routeStopSeconds: integer(
      'How long a draining pod waits before it stops Triton, so that every controller has stopped sending to it, ' +
        'in seconds, 1 to 300. Default 5: EndpointSlices propagate in one to two.',
      { minimum: 1, maximum: 300, default: 5 },
    ),
    exitTimeoutSeconds: integer(
      'How long Triton then waits for requests in flight, in seconds, 1 to 3600. Default 30: the longest that the ' +
        "controller waits for one request, and Triton's own default.",
      { minimum: 1, maximum: 3600, default: 30 },
    ),
    graceSeconds: integer(
      'terminationGracePeriodSeconds of the pod, in seconds, 8 to 7200; more than routeStopSeconds + ' +
        'exitTimeoutSeconds + 5. Default 45.',
      { minimum: 8, maximum: 7200, default: 45 },
    ),
  },
  {
    default: {},
    rules: [
      {
        rule: 'self.graceSeconds > self.routeStopSeconds + self.exitTimeoutSeconds + 5',
        message:
          'graceSeconds must be more than routeStopSeconds + exitTimeoutSeconds + 5, or requests in flight are lost: ' +
          'raise graceSeconds',
        fieldPath: '.graceSeconds',
      },
    ],
  },
)
