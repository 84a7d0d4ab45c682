import { Type } from 'typebox'
import { choice, flag, integer, kubernetes, list, map, object, quantity, text } from '../field.ts'

const resources = object(
  "Resources of Triton's container in each pod.",
  {
    requests: map(
      'Resources to reserve on a node. Default one CPU and 1Gi: Triton with u2netp on one core used half of it.',
      quantity(),
      { maxProperties: 16, default: { cpu: '1', memory: '1Gi' } },
    ),
    limits: Type.Optional(
      map('Maximum resources of Triton; a GPU goes here, as `nvidia.com/gpu: 1`.', quantity(), { maxProperties: 16 }),
    ),
    claims: Type.Optional(
      list(
        'Devices by dynamic resource allocation, at most 8: names in podPatch.spec.resourceClaims. Each counts as a ' +
          'GPU.',
        object('One claim.', {
          name: text('Name of an entry of podPatch.spec.resourceClaims.', { minLength: 1, maxLength: 63 }),
          request: Type.Optional(text('One request of the claim; default all of them.', { maxLength: 63 })),
        }),
        { maxItems: 8 },
      ),
    ),
  },
  { default: {} },
)

type Toleration = {
  key?: string
  operator?: string
  value?: string
  effect?: string
  tolerationSeconds?: number
}

export const podFields = {
  image: text("Triton's image. Pin it by digest in production.", {
    minLength: 1,
    maxLength: 512,
    pattern: '^[^\\s]+$',
    default: 'nvcr.io/nvidia/tritonserver:26.07-py3',
  }),
  imagePullPolicy: choice(
    "When a node pulls the image, as a container's imagePullPolicy.",
    ['IfNotPresent', 'Always', 'Never'],
    'IfNotPresent',
  ),
  resources,
  nodeSelector: Type.Optional(
    map('Labels of the nodes that may run the pods.', text('Value of the label.', { maxLength: 63 }), {
      maxProperties: 32,
    }),
  ),
  tolerations: Type.Optional(
    list("The pods' tolerations, in the form of a pod's spec, at most 32.", kubernetes<Toleration>('A toleration.'), {
      maxItems: 32,
    }),
  ),
  affinity: Type.Optional(kubernetes<Record<string, unknown>>("The pods' affinity, in the form of a pod's spec.")),
  autoCompleteConfig: flag(
    "Whether Triton completes a model's config.pbtxt, for which it loads each model twice. With complete " +
      'configurations, false makes a pod start sooner.',
    true,
  ),
  slotsPerPod: Type.Optional(
    integer(
      "Requests that a pod serves at once, 1 to 1024. Default the model's instances × its preferred batch size, " +
        "from Triton's configuration of the model.",
      { minimum: 1, maximum: 1024 },
    ),
  ),
}

export const podPatch = Type.Optional(
  kubernetes<Record<string, unknown>>(
    'A JSON merge patch, applied to the pod template last, for settings that have no field here.',
  ),
)

export const drain = object(
  'How a pod drains without losing a request.',
  {
    routeStopSeconds: integer(
      'How long a draining pod waits before it stops Triton, in seconds, 1 to 300, so workers stop sending to it ' +
        'first. Default 5: EndpointSlices propagate in one to two.',
      { minimum: 1, maximum: 300, default: 5 },
    ),
    exitTimeoutSeconds: integer(
      'How long Triton then waits for requests in flight, in seconds, 1 to 3600. Default 30: the timeout of a ' +
        "request, and Triton's own default.",
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
