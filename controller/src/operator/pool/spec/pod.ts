// The part of a pool's spec that says what its pods are.
import { Type } from 'typebox'
import { choice, flag, integer, kubernetes, list, map, object, quantity, text } from '../field.ts'

const resources = object(
  "Resources of Triton's container in each pod.",
  {
    requests: map(
      'What the scheduler reserves on a node. Default one CPU and 1Gi: Triton with u2netp on one core used half of it.',
      quantity(),
      { maxProperties: 16, default: { cpu: '1', memory: '1Gi' } },
    ),
    limits: Type.Optional(
      map('What Triton may use at most; a GPU goes here, as `nvidia.com/gpu: 1`.', quantity(), { maxProperties: 16 }),
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

/** A toleration as Kubernetes has it. */
type Toleration = {
  key?: string
  operator?: string
  value?: string
  effect?: string
  tolerationSeconds?: number
}

/** The fields of spec that the pod template is built from, but for the models. */
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
    "Whether Triton completes a model's config.pbtxt. For that it loads each model once more; when the " +
      'configurations are complete, false saves that time at each start of a pod.',
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
    'A JSON merge patch, applied to the pod template last: for whatever has no field here.',
  ),
)
