// What a user asks for. Every number says where it comes from; the rules are CEL and judged by the API server.
import { type Static, Type } from 'typebox'
import { choice, flag, integer, kubernetes, list, map, number, object, quantity, text } from './field.ts'

/** Five fields of what cron fields are made of. Whether the hour exists is judged when it is read (`ScheduleInvalid`). */
const cron = (description: string) =>
  text({
    description,
    // `* * * * *`, and lists of hours and minutes that nobody writes longer.
    minLength: 9,
    maxLength: 120,
    rules: [
      {
        rule: "self.matches('^[0-9A-Z*,/-]+( [0-9A-Z*,/-]+){4}$')",
        message: 'write five cron fields, minute hour day month weekday, such as "0 8 * * MON-FRI"',
      },
    ],
  })

/** A path that cannot leave its folder. */
const noParent = {
  rule: "!self.split('/').exists(part, part == '..')",
  message: 'a path must not contain "..": write it from its root',
}

const source = object(
  {
    imagePath: Type.Optional(
      text({
        description:
          "A folder in the pool's image, from its root, that holds one folder for each model, such as `/models`.",
        minLength: 1,
        maxLength: 255,
        pattern: '^/[^\\s,]*$',
        rules: [noParent],
      }),
    ),
    persistentVolumeClaim: Type.Optional(
      object(
        {
          claimName: text({
            description: "A claim in the pool's namespace; mounted read-only.",
            minLength: 1,
            maxLength: 253,
            pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$',
          }),
          path: text({
            description: 'The folder in the volume that holds one folder for each model; empty for its root.',
            maxLength: 255,
            pattern: '^([^/\\s,][^\\s,]*)?$',
            default: '',
            rules: [noParent],
          }),
        },
        { description: 'A volume that holds the models.' },
      ),
    ),
    s3: Type.Optional(
      object(
        {
          prefix: text({
            description:
              'Where one folder for each model lies, as Triton writes it: `s3://bucket/folder`, or ' +
              '`s3://https://host:port/bucket/folder` for a store other than AWS.',
            minLength: 6,
            maxLength: 512,
            pattern: '^s3://[^\\s,]+$',
          }),
          secretName: Type.Optional(
            text({
              description:
                "A Secret in the pool's namespace with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if need be, " +
                "AWS_SESSION_TOKEN and AWS_DEFAULT_REGION. Without it the pod's own identity is used. One for the " +
                'whole pool, since Triton reads them from its environment.',
              minLength: 1,
              maxLength: 253,
              pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$',
            }),
          ),
        },
        { description: 'An S3 bucket that holds the models. Each pod fetches them when it starts.' },
      ),
    ),
  },
  {
    description: 'Where the model comes from: exactly one of the three.',
    rules: [
      {
        rule: '[has(self.imagePath), has(self.persistentVolumeClaim), has(self.s3)].filter(is, is).size() == 1',
        message: 'a model has exactly one source: set one of imagePath, persistentVolumeClaim and s3',
      },
    ],
  },
)

const model = object(
  {
    name: text({
      description: "The model's folder in its repository and its name in Triton, such as `u2netp`.",
      minLength: 1,
      maxLength: 63,
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
    }),
    modelVersion: text({
      description:
        'What callers write as `modelVersion` to get it. Names are shared by all pools: of two pools with the same, ' +
        'the older serves it and the other is Degraded.',
      minLength: 1,
      maxLength: 63,
      pattern: '^[a-z0-9][a-z0-9_-]*(\\.[a-z0-9_-]+)*$',
    }),
    default: flag({
      description:
        'Marks the model that stands for the pool: of the default pool it also answers `service-v2` and an omitted ' +
        'modelVersion. With no mark it is the first of the list.',
      default: false,
    }),
    licence: Type.Optional(
      text({
        description: 'Its licence as an SPDX expression, such as `Apache-2.0`. For the record.',
        minLength: 1,
        maxLength: 128,
      }),
    ),
    checksum: Type.Optional(
      text({
        description:
          "SHA-256 of the model's file, as `sha256:` and 64 hex digits. A pod in which the file that Triton loads of the model's " +
          'highest version does not have it does not start (ChecksumMismatch). That file is default_model_filename of the ' +
          "model's configuration, else the usual one of its backend, such as `model.onnx`. Of a model in S3, which Triton " +
          'fetches itself, nothing is compared. A new one rolls out as a new revision, also where the file changes in place.',
        maxLength: 71,
        pattern: '^sha256:[0-9a-f]{64}$',
      }),
    ),
    source,
  },
  { description: 'One model that every pod of the pool loads.' },
)

const replicas = (description: string, options: { minimum?: number; default?: number } = {}) =>
  // 1,000 pods is the size that the controller is measured at.
  integer({ description, minimum: 0, maximum: 1000, ...options })

const schedule = object(
  {
    name: text({
      description: 'Shown in status while it is in force.',
      minLength: 1,
      maxLength: 63,
      pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
    }),
    timeZone: text({
      description: 'IANA name of the time zone of `start` and `end`, such as `Europe/Berlin` or `UTC`.',
      minLength: 1,
      maxLength: 64,
      pattern: '^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$',
    }),
    start: cron(
      'When it begins: five cron fields (minute, hour, day, month, weekday), such as `0 8 * * MON-FRI`. Numbers, ' +
        '`*`, lists, ranges and steps; when both day and weekday are set, either may match.',
    ),
    end: cron('When it ends, in the same form, such as `0 20 * * MON-FRI`. In force from each start to the next end.'),
    minReplicas: Type.Optional(replicas('In place of scaling.minReplicas while in force, in pods, 0 to 1000.')),
    maxReplicas: Type.Optional(
      replicas('In place of scaling.maxReplicas while in force, in pods, 1 to 1000.', { minimum: 1 }),
    ),
  },
  {
    description:
      'Other bounds at certain hours. Of several in force at once the highest minReplicas and the lowest maxReplicas ' +
      'hold; where they contradict each other, minReplicas.',
    rules: [
      {
        rule: 'has(self.minReplicas) || has(self.maxReplicas)',
        message: 'a schedule without minReplicas and maxReplicas changes nothing: set one of them or remove it',
      },
    ],
  },
)

/** Also what an external owner leaves untouched, which is why they stand by themselves. */
export const scalingDefaults = {
  minReplicas: 1,
  maxReplicas: 10,
  utilization: 0.75,
  panicWindowSeconds: 6,
  fallbackAfterSeconds: 30,
  fallbackReplicas: 1,
} as const

const only = ' Only with owner matte.'

const scaling = object(
  {
    owner: choice(['matte', 'external'], {
      description:
        'Who decides how many pods there are: `matte` by the demand it sees, or `external`: whoever writes the scale ' +
        'subresource, such as a HorizontalPodAutoscaler, KEDA or `kubectl scale`. Never both.',
      default: 'matte',
    }),
    minReplicas: replicas(
      `Fewest pods, 0 to 1000. At 0 an idle pool has none, and the first task waits until one has started. Default 1: ` +
        `nobody waits for a start.${only}`,
      { default: scalingDefaults.minReplicas },
    ),
    maxReplicas: replicas(
      'Most pods, 1 to 1000; those that finish their last images before they go are not counted. Default 10: what 15 ' +
        `images of 0.5 s a second need at the default utilization.${only}`,
      { minimum: 1, default: scalingDefaults.maxReplicas },
    ),
    target: object(
      {
        p95Seconds: number({
          description:
            'How late an image may be, creation to result, in seconds, 0.5 to 600: later ones count as missed, and a ' +
            'backlog is to be gone within two and a half times it. Default 2: a person waits for the result.',
          minimum: 0.5,
          maximum: 600,
          default: 2,
        }),
        utilization: number({
          description:
            'Share of the slots that steady demand may fill, 0.1 to 1; the rest is for what arrives by chance. ' +
            `Default 0.75, from the simulator (\`make sim\`).${only}`,
          minimum: 0.1,
          maximum: 1,
          default: scalingDefaults.utilization,
        }),
      },
      { description: 'What scaling aims at.', default: {} },
    ),
    panicWindowSeconds: integer({
      description:
        'How long no pod is taken away after the last sign of a burst, which is that far more arrives in 3 s than on ' +
        `average in 30 s; in seconds, 0 to 600. Default 6, as Knative's panic window.${only}`,
      minimum: 0,
      maximum: 600,
      default: scalingDefaults.panicWindowSeconds,
    }),
    stabilizationWindowSeconds: Type.Optional(
      integer({
        description:
          'How long a pod is kept after it was last needed, in seconds, 0 to 86400. Longer costs pod-seconds and ' +
          'spares misses when demand returns. Without it 60 s + 1.5 × the measured start-up time, from the simulator; ' +
          `status.stabilizationWindowSeconds shows it.${only}`,
        minimum: 0,
        maximum: 86_400,
      }),
    ),
    schedules: Type.Optional(
      list(schedule, {
        description: `Other bounds at certain hours, at most 16.${only}`,
        // One for each hour of a working day, and it bounds what the rules cost.
        maxItems: 16,
        keys: ['name'],
      }),
    ),
    fallback: object(
      {
        afterSeconds: integer({
          description:
            'Age of the demand figures from which they are not believed, in seconds, 5 to 3600. Default 30: they are ' +
            `read each second, so thirty reads in a row have failed.${only}`,
          minimum: 5,
          maximum: 3600,
          default: scalingDefaults.fallbackAfterSeconds,
        }),
        replicas: replicas(
          'Pods to have at least while the figures are not believed, 0 to 1000; those that run are kept. Default 1: ' +
            `what waits goes on.${only}`,
          { default: scalingDefaults.fallbackReplicas },
        ),
      },
      { description: 'What holds while the demand is not known.', default: {} },
    ),
  },
  {
    description: 'How many pods there are.',
    default: {},
    rules: [
      {
        rule: 'self.minReplicas <= self.maxReplicas',
        message: 'minReplicas must not be above maxReplicas: lower minReplicas or raise maxReplicas',
        fieldPath: '.minReplicas',
      },
      {
        rule: 'self.fallback.replicas <= self.maxReplicas',
        message: 'fallback.replicas must not be above maxReplicas: lower it or raise maxReplicas',
        fieldPath: '.fallback.replicas',
      },
      {
        rule:
          '!has(self.schedules) || self.schedules.all(s, ' +
          '(has(s.minReplicas) ? s.minReplicas : self.minReplicas) <= ' +
          '(has(s.maxReplicas) ? s.maxReplicas : self.maxReplicas))',
        message:
          "a schedule's minReplicas must not be above its maxReplicas, each the pool's own where it is not set: " +
          'set both in the schedule',
        fieldPath: '.schedules',
      },
      {
        rule: `self.owner != 'external' || (${[
          `self.minReplicas == ${scalingDefaults.minReplicas}`,
          `self.maxReplicas == ${scalingDefaults.maxReplicas}`,
          `self.target.utilization == ${scalingDefaults.utilization}`,
          `self.panicWindowSeconds == ${scalingDefaults.panicWindowSeconds}`,
          '!has(self.stabilizationWindowSeconds)',
          '!has(self.schedules)',
          `self.fallback.afterSeconds == ${scalingDefaults.fallbackAfterSeconds}`,
          `self.fallback.replicas == ${scalingDefaults.fallbackReplicas}`,
        ].join(' && ')})`,
        message:
          'an external owner decides alone: remove minReplicas, maxReplicas, target.utilization, panicWindowSeconds, ' +
          'stabilizationWindowSeconds, schedules and fallback, or set owner to matte',
        fieldPath: '.owner',
      },
    ],
  },
)

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

const rollout = object(
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

const drain = object(
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
export type Toleration = {
  key?: string
  operator?: string
  value?: string
  effect?: string
  tolerationSeconds?: number
}

export const specSchema = object(
  {
    models: list(model, {
      description: 'The models that every pod of the pool loads, 1 to 16.',
      minItems: 1,
      // Sixteen models in one Triton is already more than its memory is likely to hold.
      maxItems: 16,
      keys: ['name'],
      rules: [
        {
          rule: 'self.filter(m, m.default).size() <= 1',
          message: 'a pool has one default model at most: leave `default: true` on one model only',
        },
        {
          rule: 'self.all(m, self.exists_one(n, n.modelVersion == m.modelVersion))',
          message:
            'two models of the pool have the same modelVersion: give each its own, or callers could not tell them apart',
        },
        {
          rule:
            'self.all(m, self.all(n, !has(m.source.s3) || !has(n.source.s3) || ' +
            '(has(m.source.s3.secretName) == has(n.source.s3.secretName) && ' +
            '(!has(m.source.s3.secretName) || m.source.s3.secretName == n.source.s3.secretName))))',
          message:
            'models from S3 share one Secret, since Triton reads it from its environment: name the same secretName in all',
        },
      ],
    }),
    default: flag({
      description:
        'Makes it the pool of `service-v2` and of an omitted modelVersion. Of two, the older is, and the other is ' +
        'Degraded with reason DefaultConflict.',
      default: false,
    }),
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
    replicas: Type.Optional(
      replicas(
        'Pods wanted, 0 to 1000: the field behind the scale subresource. Needed with scaling.owner external, refused ' +
          'otherwise.',
      ),
    ),
    scaling,
    rollout,
    drain,
    podPatch: Type.Optional(
      kubernetes<Record<string, unknown>>({
        description: 'A JSON merge patch of the pod template, laid over it at the end: for whatever has no field here.',
      }),
    ),
  },
  {
    description: 'What is asked for.',
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
          'an external owner needs replicas to begin with, since the scale subresource cannot be read without it: set ' +
          'spec.replicas',
        fieldPath: '.scaling.owner',
      },
    ],
  },
)

/** A pool's spec with all defaults, as the API server gives it. */
export type PoolSpec = Static<typeof specSchema>
export type PoolModel = PoolSpec['models'][number]
export type ModelSource = PoolModel['source']
export type PoolScaling = PoolSpec['scaling']
export type PoolSchedule = NonNullable<PoolScaling['schedules']>[number]
export type PoolRollout = PoolSpec['rollout']
export type PoolDrain = PoolSpec['drain']
