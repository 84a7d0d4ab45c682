// The types of condition and the closed list of reasons. A reason is for programs and alerts and never changes its
// meaning; the message is for people and says what to do.

export const conditionTypes = [
  'Ready',
  'ModelLoaded',
  'ScalingActive',
  'ScalingLimited',
  'Draining',
  'Progressing',
  'RolledBack',
  'Degraded',
] as const

export type ConditionType = (typeof conditionTypes)[number]

type ReasonText = { readonly means: string; readonly act: string }

/** Every reason, what it means, and what to do about it. docs/tritonpool-reference.md shows this table. */
export const reasons = {
  // Ready
  Available: { means: 'The pool takes images.', act: 'Nothing to do.' },
  RolledBack: {
    means: 'The revision before serves on; what spec asks for was rolled back.',
    act: 'Read the condition RolledBack.',
  },
  AtZero: {
    means: 'There are no pods because nothing waits.',
    act: 'Nothing to do: the first task starts one. Set scaling.minReplicas to 1 to spare it the wait.',
  },
  Starting: { means: 'Pods are being made and none is ready yet.', act: 'Wait; watch the pods with kubectl get pods.' },
  NoPodReady: {
    means: 'Pods run, none takes images, and no other reason is known.',
    act: "Read the log of one of the pool's pods.",
  },
  // What can be wrong
  ImagePullFailed: {
    means: 'A node cannot fetch the image.',
    act: 'Correct spec.image, or give the nodes access to its registry.',
  },
  PodUnschedulable: {
    means: 'No node has room for a pod.',
    act: 'Add nodes, ask for less in spec.resources, or loosen nodeSelector, tolerations and affinity.',
  },
  QuotaRefused: {
    means: 'Kubernetes refuses to make a pod, or what it needs, because the quota of the namespace is used up.',
    act: 'Raise the quota of the namespace or, when it is of pods, lower scaling.maxReplicas.',
  },
  PodRefused: {
    means: 'Kubernetes refuses to make a pod: a LimitRange, an admission policy, or a field that is wrong.',
    act: 'Correct what the message names, often spec.podPatch or spec.resources.',
  },
  ChangeRefused: {
    means:
      'Kubernetes refuses to make, change or delete an object of the pool, such as its Service or budget: an admission ' +
      'policy, a right that is missing, or a field that cannot be changed any more. The rest goes on.',
    act: 'Correct what the message names. A Service or budget that cannot be changed may be deleted: it is made again.',
  },
  PodCrashing: {
    means: "Triton's container, or an init container of podPatch, ends again and again.",
    act: 'Read the log of its last run: kubectl logs --previous, for an init container with -c and its name.',
  },
  ConfigMissing: {
    means: 'A pod cannot be started because a Secret, a volume or a setting that it names is not usable.',
    act: 'Create what the message names.',
  },
  ModelLoadFailed: {
    means: 'Triton runs and cannot load a model.',
    act: "Correct the model's files or its config.pbtxt.",
  },
  ModelShapeWrong: {
    means: 'The model is loaded, but its inputs or outputs are not those that Matte sends and reads.',
    act: 'Correct config.pbtxt: what is expected is in the message.',
  },
  ChecksumMismatch: {
    means: "A model's file is not the one that models[].checksum names; Triton is not started with it.",
    act: 'Put the right file in place, or correct the checksum.',
  },
  SourceMissing: {
    means: "A model's source is not there: the folder, the claim, the bucket or its Secret.",
    act: 'Create it or correct spec.models.',
  },
  DefaultConflict: {
    means: 'Another, older pool is the default too.',
    act: 'Set spec.default to false in one of the two.',
  },
  DuplicateModelVersion: {
    means: 'Another, older pool serves the same modelVersion.',
    act: 'Give the model another modelVersion, or remove it from one of the two.',
  },
  ScheduleInvalid: {
    means: 'A schedule names a time zone or an hour that does not exist; it is not in force.',
    act: 'Correct scaling.schedules.',
  },
  DemandStale: {
    means: 'The demand has not been read for scaling.fallback.afterSeconds.',
    act: "Look at the database's health and the controller's log; the pool keeps its pods meanwhile.",
  },
  NothingWrong: { means: 'Nothing is known to be wrong.', act: 'Nothing to do.' },
  // ModelLoaded
  Loaded: { means: 'Every model is loaded in the revision that serves.', act: 'Nothing to do.' },
  Loading: { means: 'A model is being loaded.', act: 'Wait.' },
  // ScalingActive
  FollowsDemand: { means: 'The number of pods follows the demand.', act: 'Nothing to do.' },
  ExternalOwner: {
    means: 'Whoever writes the scale subresource decides the number of pods.',
    act: 'Set scaling.owner to matte to let Matte decide.',
  },
  // ScalingLimited
  WithinBounds: { means: 'Neither bound is in the way.', act: 'Nothing to do.' },
  AtMaximum: {
    means: 'More pods are needed than scaling.maxReplicas allows.',
    act: 'Raise scaling.maxReplicas, or accept that images wait.',
  },
  AtMinimum: {
    means: 'Fewer pods are needed than scaling.minReplicas keeps.',
    act: 'Lower scaling.minReplicas to spend less, or leave it as standing capacity.',
  },
  ScheduleBound: {
    means: 'A schedule sets the bound that is in the way.',
    act: 'Change that schedule if it is not what you want.',
  },
  // Draining
  ScaleDown: { means: 'Pods that are no longer needed finish their last images.', act: 'Nothing to do.' },
  RevisionReplaced: { means: 'Pods of a former revision finish their last images.', act: 'Nothing to do.' },
  PodDeleted: {
    means: 'A pod was deleted by someone else and finishes its last images.',
    act: 'Nothing to do: another takes its place.',
  },
  NothingDraining: { means: 'No pod is on its way out.', act: 'Nothing to do.' },
  // Progressing
  RolloutInProgress: {
    means: 'A new revision is taking over, or is rolled back.',
    act: 'Wait; status.rollout shows the step.',
  },
  RolloutBlocked: {
    means: 'Pods that a rollout or rollback waits for do not become ready; the other revision keeps serving.',
    act: 'Read the condition Degraded. A new revision is rolled back after rollout.gate.readySeconds.',
  },
  PodsStarting: { means: 'Pods are on their way.', act: 'Wait.' },
  Settled: { means: 'Everything is as asked for.', act: 'Nothing to do.' },
  // RolledBack
  CanaryErrorRate: {
    means: 'Too many requests failed in the new revision.',
    act: 'Read the log of the controller and correct spec: any change of it is tried again.',
  },
  CanaryLatency: {
    means: 'The new revision was too slow.',
    act: 'Correct spec, or raise rollout.gate.maxLatencyRatio if it may be so slow.',
  },
  CanaryNotReady: {
    means: 'Pods of the new revision were not ready within rollout.gate.readySeconds, or did not stay so.',
    act: 'Correct spec, or raise rollout.gate.readySeconds if it needs longer.',
  },
  CanaryLoadFailed: {
    means: 'The new revision could not load a model.',
    act: "Correct the model's files or spec.models.",
  },
  NotRolledBack: { means: 'What spec asks for has not been rolled back.', act: 'Nothing to do.' },
} as const satisfies Record<string, ReasonText>

export type Reason = keyof typeof reasons
