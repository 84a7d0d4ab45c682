// The part of a pool's spec that says what its pods are.
import { Type } from 'typebox'
import { choice, flag, integer, kubernetes, list, map, object, quantity, text } from '../field.ts'

const resources = object(
  {
    requests: map(quantity(), {
      description:
        'What the node must have free. Default one CPU and 1Gi: Triton with u2netp on one core was measured at half.',
      maxProperties: 16,
      default: { cpu: '1', memory: '1Gi' },
    }),
    limits: Type.Optional(
      map(quantity(), {
        description: 'What Triton may take at most; a GPU goes here, as `nvidia.com/gpu: 1`.',
        maxProperties: 16,
      }),
    ),
  },
  { description: "Triton's container in each pod.", default: {} },
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
    description: 'When a node fetches the image, as Kubernetes has it.',
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
      description: 'Taints that the pods tolerate, as Kubernetes has them, at most 32.',
      maxItems: 32,
    }),
  ),
  affinity: Type.Optional(
    kubernetes<Record<string, unknown>>({ description: "The pods' affinity, as Kubernetes has it." }),
  ),
  autoCompleteConfig: flag({
    description:
      "Whether Triton fills in what a model's config.pbtxt leaves out. It loads each model once more for that; with " +
      'configurations that are complete, false spares that time at every start of a pod.',
    default: true,
  }),
  slotsPerPod: Type.Optional(
    integer({
      description:
        "Images in one pod at once, at most, 1 to 1024. Without it the model's instances × its preferred batch, " +
        "read from Triton's config.",
      minimum: 1,
      maximum: 1024,
    }),
  ),
}

export const podPatch = Type.Optional(
  kubernetes<Record<string, unknown>>({
    description: 'A JSON merge patch of the pod template, laid over it at the end: for whatever has no field here.',
  }),
)
