// The part of a pool's spec that says what its pods are.
import { Type } from 'typebox'
import { choice, flag, integer, kubernetes, list, map, object, quantity, text } from '../field.ts'

const resources = object(
  {
    requests: map(quantity(), {
      description:
        'What a node must have free. Default one CPU and 1Gi: Triton with u2netp on one core was measured at half.',
      maxProperties: 16,
      default: { cpu: '1', memory: '1Gi' },
    }),
    limits: Type.Optional(
      map(quantity(), {
        description: 'What Triton may use at most; a GPU goes here, as `nvidia.com/gpu: 1`.',
        maxProperties: 16,
      }),
    ),
  },
  { description: "Resources of Triton's container in each pod.", default: {} },
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
  image: text({
    description: "Triton's image. Pin it by digest in production.",
    minLength: 1,
    maxLength: 512,
    pattern: '^[^\\s]+$',
    default: 'nvcr.io/nvidia/tritonserver:26.07-py3',
  }),
  imagePullPolicy: choice(['IfNotPresent', 'Always', 'Never'], {
    description: "When a node pulls the image, as a container's imagePullPolicy.",
    default: 'IfNotPresent',
  }),
  resources,
  nodeSelector: Type.Optional(
    map(text({ description: 'Value of the label.', maxLength: 63 }), {
      description: 'Labels of the nodes that may run the pods.',
      maxProperties: 32,
    }),
  ),
  tolerations: Type.Optional(
    list(kubernetes<Toleration>({ description: 'A toleration.' }), {
      description: "The pods' tolerations, in the form of a pod's spec, at most 32.",
      maxItems: 32,
    }),
  ),
  affinity: Type.Optional(
    kubernetes<Record<string, unknown>>({ description: "The pods' affinity, in the form of a pod's spec." }),
  ),
  autoCompleteConfig: flag({
    description:
      "Whether Triton completes a model's config.pbtxt. For that it loads each model once more; when the " +
      'configurations are complete, false saves that time at each start of a pod.',
    default: true,
  }),
  slotsPerPod: Type.Optional(
    integer({
      description:
        "Requests that a pod serves at once, 1 to 1024. Default the model's instances × its preferred batch size, " +
        "from Triton's configuration of the model.",
      minimum: 1,
      maximum: 1024,
    }),
  ),
}

export const podPatch = Type.Optional(
  kubernetes<Record<string, unknown>>({
    description: 'A JSON merge patch, applied to the pod template last: for whatever has no field here.',
  }),
)
