// Condition types and the closed list of reasons. A reason never changes its meaning.

export const conditionTypes = [
  'Ready',
  'ModelLoaded',
  'ScalingActive',
  'ScalingLimited',
  'Draining',
  'Progressing',
  'RolledBack',
  'Degraded',
  'Reconciling',
  'Stalled',
] as const

export type ConditionType = (typeof conditionTypes)[number]

type ReasonText = { readonly means: string; readonly act: string }

/** Every reason with its meaning and what to do, printed in docs/tritonpool-reference.md. */
export const reasons = {
  // Ready
  Available: { means: 'The pool serves requests.', act: 'Nothing to do.' },
  RolledBack: {
    means: 'The revision in spec was rolled back; the previous revision keeps serving.',
    act: 'Read the condition RolledBack.',
  },
  AtZero: {
    means: 'There are no pods because no requests wait.',
    act: 'Nothing to do: the first request starts one. Set scaling.minReplicas to 1 to avoid the cold start.',
  },
  Starting: { means: 'Pods are starting and none is ready yet.', act: 'Wait; watch the pods with kubectl get pods.' },
  NoPodReady: {
    means: 'Pods run but serve no requests, and no other reason is known.',
    act: "Read the log of one of the pool's pods.",
  },
  NameTaken: {
    means: 'An older pool of another watched namespace has the same name, so nothing is created for this pool.',
    act: 'Create the pool under another name and delete this one.',
  },
  // Degraded, also Ready
  ImagePullFailed: {
    means: 'A node cannot pull the image.',
    act: 'Correct spec.image, or give the nodes access to its registry.',
  },
  PodUnschedulable: {
    means: 'No node has room for a pod.',
    act: 'Add nodes, request less in spec.resources, or relax nodeSelector, tolerations and affinity.',
  },
  QuotaRefused: {
    means: 'The quota of the namespace does not allow another pod, or an object that the pool needs.',
    act: 'Raise the quota of the namespace or, if it is a quota of pods, lower scaling.maxReplicas.',
  },
  PodRefused: {
    means: 'Kubernetes refuses to create a pod: a LimitRange, an admission policy, or an invalid field.',
    act: 'Correct what the message names, often spec.podPatch or spec.resources.',
  },
  PodPatchRefused: {
    means:
      'The podPatch asks for more than this install allows: a service account or PriorityClass that is not ' +
      'listed, a Secret, the node, or rights beyond Pod Security restricted.',
    act:
      'Remove the fields from spec.podPatch, or ask the administrator of the operator to add the name to ' +
      'operator.podServiceAccounts or operator.podPriorityClasses, or to set POD_PATCH=any.',
  },
  ChangeRefused: {
    means:
      'Kubernetes refuses to create, update or delete an object of the pool, such as its Service or budget: an ' +
      'admission policy, a missing permission, or an immutable field. If it refuses updates of pods, the operator ' +
      'does not scale down; the rest of the pool is not affected.',
    act:
      'Correct what the message names. If it names pods, allow the service account of the operator to patch pods. A ' +
      'Service or budget that cannot be updated may be deleted; the operator recreates it.',
  },
  ChangeTimedOut: {
    means:
      'Kubernetes did not answer a write of the pool within 35 s, most often because an admission webhook does not ' +
      'answer. The write may have taken effect; the next pass reads the object again.',
    act:
      'Check the admission webhooks of the cluster with kubectl get validatingwebhookconfigurations,' +
      'mutatingwebhookconfigurations, and their pods.',
  },
  FencingRefused: {
    means:
      'Kubernetes refuses the fencing token of a new leader, so a former leader could still change the pool. The ' +
      'operator does not change the pool until the token is written; its pods keep running.',
    act:
      'Allow the service account of the operator to patch tritonpools/status, and deployments or deployments/scale, as ' +
      'the message says. The operator retries within 15 s.',
  },
  PodCrashing: {
    means: "Triton's container, or an init container of podPatch, keeps exiting.",
    act: 'Read the log of its last run: kubectl logs --previous, with -c and its name for an init container.',
  },
  ConfigMissing: {
    means: 'A pod cannot start because a Secret, a volume or a setting that it names is missing or invalid.',
    act: 'Create what the message names.',
  },
  ModelLoadFailed: {
    means: 'Triton runs but cannot load a model.',
    act: "Correct the model's files or its config.pbtxt.",
  },
  ModelShapeWrong: {
    means: 'The model is loaded, but its inputs or outputs are not what Matte expects.',
    act: 'Correct config.pbtxt: the message says what is expected.',
  },
  LicenceRefused: {
    means:
      "This install does not allow a model's licence. By models[].licence no pod is created; by the licence that a pod " +
      'reports the model gets no requests.',
    act: 'Use another model, or ask the administrator of the operator to add the licence to MODELS_ALLOWED_LICENCES.',
  },
  ChecksumMismatch: {
    means: "A model's file does not match models[].checksum, so Triton is not started.",
    act: 'Replace the file, or correct the checksum.',
  },
  SourceMissing: {
    means: "A model's source does not exist: the folder, the claim, the bucket or its Secret.",
    act: 'Create it or correct spec.models.',
  },
  DefaultConflict: {
    means: 'An older pool is the default too.',
    act: 'Set spec.default to false in one of the two.',
  },
  DuplicateModelVersion: {
    means: 'An older pool serves the same modelVersion.',
    act: 'Give the model another modelVersion, or remove it from one of the two.',
  },
  ScheduleInvalid: {
    means: 'A schedule names a time zone or a time that does not exist, so it is not in force.',
    act: 'Correct scaling.schedules.',
  },
  AnnotationIgnored: {
    means: 'An annotation that controls the rollout has an invalid value, or is too late.',
    act: 'Correct or remove the annotation (docs/operations/rollouts.md).',
  },
  DemandStale: {
    means: 'The demand has not been read for scaling.fallback.afterSeconds.',
    act: "Check the database and the operator's log. The pool keeps its pods.",
  },
  NothingWrong: { means: 'No problem is known.', act: 'Nothing to do.' },
  // ModelLoaded
  Loaded: { means: 'Every model is loaded in the revision that serves.', act: 'Nothing to do.' },
  Loading: { means: 'A model is loading.', act: 'Wait.' },
  // ScalingActive
  FollowsDemand: { means: 'The number of pods follows the demand.', act: 'Nothing to do.' },
  ExternalOwner: {
    means: 'The writer of the scale subresource decides the number of pods.',
    act: 'Set scaling.owner to matte to let Matte decide.',
  },
  // ScalingLimited
  WithinBounds: { means: 'No bound limits the number of pods.', act: 'Nothing to do.' },
  AtMaximum: {
    means: 'The demand needs more pods than scaling.maxReplicas allows.',
    act: 'Raise scaling.maxReplicas, or accept that requests wait.',
  },
  AtMinimum: {
    means: 'The demand needs fewer pods than scaling.minReplicas keeps.',
    act: 'Lower scaling.minReplicas to spend less, or leave it as standing capacity.',
  },
  ScheduleBound: {
    means: 'A schedule sets the bound that limits the number of pods.',
    act: 'Change that schedule if this is not intended.',
  },
  // Draining
  ScaleDown: { means: 'Pods that are no longer needed finish their requests in flight.', act: 'Nothing to do.' },
  RevisionReplaced: { means: 'Pods of a former revision finish their requests in flight.', act: 'Nothing to do.' },
  PodDeleted: {
    means: 'A pod was deleted from outside Matte and finishes its requests in flight.',
    act: 'Nothing to do: a new pod replaces it.',
  },
  NothingDraining: { means: 'No pod is draining.', act: 'Nothing to do.' },
  // Progressing
  RolloutInProgress: {
    means: 'A new revision is taking over, or is rolled back.',
    act: 'Wait; status.rollout shows the step.',
  },
  RolloutBlocked: {
    means: 'Pods of a rollout or rollback do not become ready; the other revision keeps serving.',
    act: 'Read the condition Degraded. A new revision is rolled back after rollout.gate.readySeconds.',
  },
  RolloutNoRoom: {
    means: 'A pod that a rollout or rollback needs has no node or no quota; the serving pods are kept.',
    act:
      'Free a slot or raise the quota; or set rollout.maxUnavailable to 1 or rollout.strategy to Recreate, so serving ' +
      'pods make room.',
  },
  RolloutAwaitsRequests: {
    means: 'A step of a canary has served fewer than rollout.gate.minRequests requests, so it pauses.',
    act:
      'Wait for requests or send some. To continue without them, set rollout.gate.idle to promote or lower ' +
      'rollout.gate.minRequests.',
  },
  RolloutAwaitsDemand: {
    means: 'The requests of a canary cannot be read from the database, so it pauses.',
    act: 'Restore the database; or change the spec back to end the rollout.',
  },
  RolloutPaused: {
    means: 'The annotation matte.dev/pause pauses the rollout.',
    act: 'Remove the annotation to resume.',
  },
  RolloutQueued: {
    means: 'The pool waits because operator.concurrentRollouts other pools are rolling out.',
    act: 'Wait, or raise operator.concurrentRollouts.',
  },
  PodsStarting: { means: 'Pods are starting.', act: 'Wait.' },
  Settled: { means: 'The pool matches spec.', act: 'Nothing to do.' },
  // RolledBack
  CanaryErrorRate: {
    means: 'Too many requests failed in the new revision.',
    act: "Read the operator's log and correct spec. A changed pod template is retried.",
  },
  CanaryLatency: {
    means: 'The new revision was too slow.',
    act:
      'Correct spec; or raise rollout.gate.maxLatencyRatio if this latency is acceptable, and set the annotation ' +
      'matte.dev/retry to the present time.',
  },
  CanaryNotReady: {
    means: 'Pods of the new revision were not ready within rollout.gate.readySeconds, or did not stay ready.',
    act:
      'Correct spec; or raise rollout.gate.readySeconds if its pods take longer to start, and set the annotation ' +
      'matte.dev/retry to the present time.',
  },
  CanaryLoadFailed: {
    means: 'The new revision could not load a model.',
    act: "Correct the model's files or spec.models.",
  },
  NotRolledBack: { means: 'The revision in spec has not been rolled back.', act: 'Nothing to do.' },
} as const satisfies Record<string, ReasonText>

export type Reason = keyof typeof reasons

/** Reasons of a wrong model, as opposed to a failed pod. */
export const loadReasons: readonly Reason[] = [
  'ModelLoadFailed',
  'ModelShapeWrong',
  'LicenceRefused',
  'ChecksumMismatch',
  'SourceMissing',
]
