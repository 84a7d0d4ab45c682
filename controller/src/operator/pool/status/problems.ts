// Problems of a pool, worst first. A message stays the same while nothing changes, because every difference rewrites
// the status.
import { type Reason, reasons } from '../reasons.ts'
import type { PodObservation, StatusInput } from './observation.ts'

export type Problem = {
  readonly reason: Reason
  readonly message: string
  /** Keeps pods from being created or from serving requests. */
  readonly blocking: boolean
  readonly revision?: string
  readonly ofPods?: boolean
}

type ProblemInput = Pick<StatusInput, 'pool' | 'observed' | 'target' | 'decision'>

/** Waiting reasons of the kubelet (pkg/kubelet/images/types.go and kuberuntime). */
const pullReasons = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
])
const configReasons = new Set(['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError'])

/** A container with this many restarts that is not ready is crashing, even while it runs. */
const crashesMin = 2

/** No node or quota for a pod; the revision is not at fault. */
export const lacksRoom = ({ reason }: Pick<Problem, 'reason'>): boolean =>
  reason === 'PodUnschedulable' || reason === 'QuotaRefused'

export function findProblems(input: ProblemInput): Problem[] {
  const problems = [
    ...missingSources(input),
    ...refusals(input),
    ...refusedChanges(input),
    ...podProblems(input),
    ...modelProblems(input),
    ...conflicts(input),
    ...staleDemand(input),
  ]
  return input.pool.spec.scaling.owner === 'external' ? problems.map(forExternalOwner) : problems
}

/** Replaces `act` for a pool of an external owner, which has no bounds to change. */
const actsWithExternalOwner: Readonly<Partial<Record<Reason, string>>> = {
  QuotaRefused:
    'Raise the quota of the namespace or, if it is a quota of pods, have the external owner ask for fewer pods.',
}

function forExternalOwner(problem: Problem): Problem {
  const act = actsWithExternalOwner[problem.reason]
  return act === undefined
    ? problem
    : { ...problem, message: problem.message.replace(reasons[problem.reason].act, act) }
}

/** Removes line breaks and cuts the text, so `kubectl describe` stays readable. */
export function quote(words: string, charactersMax = 400): string {
  const line = words.replaceAll(/\s+/g, ' ').trim().replace(/\.$/, '')
  return line.length <= charactersMax ? line : `${line.slice(0, charactersMax - 1)}…`
}

const harmless = { blocking: false }

const problem = (reason: Reason, what: string, more: Omit<Problem, 'reason' | 'message'>): Problem => ({
  reason,
  message: `${what}. ${reasons[reason].act}`,
  ...more,
})

const missingSources = ({ observed, target }: ProblemInput): Problem[] =>
  observed.missingSources.map(({ model, message }) =>
    problem('SourceMissing', `The source of model ${model} does not exist: ${quote(message)}`, {
      blocking: true,
      revision: target,
    }),
  )

function refusals({ observed }: ProblemInput): Problem[] {
  return observed.deployments.flatMap(({ revision, replicas, replicaFailure }) => {
    if (replicaFailure === undefined) return []
    if (replicaFailure.reason === 'PodPatchRefused') {
      const what = `This install refuses the pods: ${quote(replicaFailure.message)}`
      return [problem('PodPatchRefused', what, { blocking: true, revision, ofPods: true })]
    }
    if (replicaFailure.reason === 'LicenceRefused') {
      const what = `This install refuses the pods: ${quote(replicaFailure.message)}`
      return [problem('LicenceRefused', what, { blocking: true, revision, ofPods: true })]
    }
    if (replicaFailure.reason === 'Timeout') {
      const words = quote(replicaFailure.message)
      const what = `Kubernetes does not answer in time when asked to create a Deployment: ${words}`
      return [problem('ChangeTimedOut', what, { blocking: true, revision, ofPods: true })]
    }
    const created = observed.pods.filter((pod) => pod.revision === revision && !pod.draining).length
    const reason = isOfQuota(replicaFailure.message) ? 'QuotaRefused' : 'PodRefused'
    // Removes the pod's name, which differs in each attempt.
    const words = quote(replicaFailure.message.replace(/^pods "[^"]*" is forbidden: /, ''))
    const what = `Kubernetes created ${created} of ${replicas} pods and refuses more: ${words}`
    return [problem(reason, what, { blocking: true, revision, ofPods: true })]
  })
}

/** Compares the message, because the reason is the same for all refusals. */
const isOfQuota = (message: string): boolean => message.includes('exceeded quota')

const refusedChanges = ({ observed: { refusedChanges: changes = [] } }: ProblemInput): Problem[] =>
  changes.map(({ what, message, blocking, ofPods, timedOut, revision }) => {
    const reason = timedOut ? 'ChangeTimedOut' : isOfQuota(message) ? 'QuotaRefused' : 'ChangeRefused'
    const verb = timedOut ? 'does not answer in time when asked to' : 'refuses to'
    return problem(reason, `Kubernetes ${verb} ${what}: ${quote(message)}`, {
      blocking,
      ofPods,
      ...(revision !== undefined && { revision }),
    })
  })

function podProblems({ pool, observed }: ProblemInput): Problem[] {
  const waiting = observed.pods.filter((pod) => !pod.draining && !pod.ready)
  const found = waiting.map((pod) => ({ pod, trouble: judge(pod, pool.spec.image) }))
  const groups = Map.groupBy(found, ({ pod, trouble }) => `${trouble?.reason} ${pod.revision}`)
  return order.flatMap((reason) =>
    [...groups.values()].flatMap((group) => {
      const [first] = group.toSorted((a, b) => (a.pod.name < b.pod.name ? -1 : 1))
      if (first?.trouble?.reason !== reason) return []
      const who = group.length === 1 ? `Pod ${first.pod.name}` : `${group.length} pods, such as ${first.pod.name},`
      return [problem(reason, `${who} ${first.trouble.what}`, { blocking: true, revision: first.pod.revision })]
    }),
  )
}

const order = ['ChecksumMismatch', 'ImagePullFailed', 'ConfigMissing', 'PodUnschedulable', 'PodCrashing'] as const

type Trouble = { readonly reason: (typeof order)[number]; readonly what: string }

function judge(pod: PodObservation, image: string): Trouble | undefined {
  const { waiting, unschedulable, initFailure, lastExit, restarts, wrongFiles = [] } = pod
  if (wrongFiles.length > 0) {
    const files = wrongFiles.map(({ model, message }) => `model ${model}: ${quote(message)}`).join('; ')
    return { reason: 'ChecksumMismatch', what: `has a file whose checksum differs from spec: ${files}` }
  }
  if (unschedulable !== undefined) {
    return { reason: 'PodUnschedulable', what: `cannot be scheduled: ${quote(unschedulable)}` }
  }
  const words = quote(waiting?.message ?? waiting?.reason ?? '')
  if (waiting !== undefined && pullReasons.has(waiting.reason)) {
    return { reason: 'ImagePullFailed', what: `cannot pull the image ${image}: ${withoutBackOff(words)}` }
  }
  if (waiting !== undefined && configReasons.has(waiting.reason)) {
    return { reason: 'ConfigMissing', what: `cannot start: ${words}` }
  }
  const isBackingOff = waiting?.reason === 'CrashLoopBackOff'
  if (initFailure !== undefined && (isBackingOff || initFailure.restarts >= crashesMin)) {
    const { container, restarts: times, lastExit: exit } = initFailure
    const what = `has an init container, ${container}, that has restarted ${timesOf(times)}${exitOf(exit)}`
    return { reason: 'PodCrashing', what }
  }
  if (isBackingOff || (lastExit !== undefined && restarts >= crashesMin)) {
    return { reason: 'PodCrashing', what: `has restarted ${timesOf(restarts)}${exitOf(lastExit)}` }
  }
  return undefined
}

const timesOf = (count: number): string => (count === 1 ? 'once' : `${count} times`)

function exitOf(exit: PodObservation['lastExit']): string {
  if (exit === undefined) return ''
  const reason = exit.reason === undefined || exit.reason === 'Error' ? '' : ` (${exit.reason})`
  const message = exit.message ? `: ${quote(exit.message)}` : ''
  return `, last after exit code ${exit.exitCode}${reason}${message}`
}

/** The kubelet alternates between the error and its back-off message, so the prefix is removed. */
const withoutBackOff = (words: string): string =>
  words.replace(/^Back-off pulling image "[^"]*":? ?(ErrImagePull: )?/, '') || words

function modelProblems({ observed }: ProblemInput): Problem[] {
  return observed.models.flatMap(({ name, revision, failure, wrongShape }) => {
    if (failure?.reason !== undefined) return []
    if (failure !== undefined) {
      const what = `Triton in pod ${failure.pod} cannot load model ${name}: ${quote(failure.message)}`
      return [problem('ModelLoadFailed', what, { blocking: true, revision })]
    }
    if (wrongShape === undefined) return []
    const what = `Model ${name} in pod ${wrongShape.pod} is loaded but not usable: ${quote(wrongShape.message)}`
    return [problem(wrongShape.reason, what, { blocking: true, revision })]
  })
}

function conflicts({ observed }: ProblemInput): Problem[] {
  const { defaultConflict } = observed
  const other = `The older pool ${defaultConflict} is the default, so this one is not`
  return [
    ...(defaultConflict === undefined ? [] : [problem('DefaultConflict', other, harmless)]),
    ...observed.duplicates.map(({ modelVersion, pool }) =>
      problem('DuplicateModelVersion', `The older pool ${pool} serves modelVersion ${modelVersion}`, harmless),
    ),
    ...observed.badSchedules.map(({ name, message }) =>
      problem('ScheduleInvalid', `Schedule ${name} is not in force: ${quote(message)}`, harmless),
    ),
    ...(observed.ignoredAnnotations ?? []).map(({ annotation, message }) =>
      problem('AnnotationIgnored', `The annotation ${annotation} has no effect: ${quote(message)}`, harmless),
    ),
  ]
}

/** Whether scaling lacks a current demand. A new leader that waits for its first reading is not stale. */
export const isDemandStale = ({ decision }: ProblemInput): boolean => decision.rule === 'fallback'

function staleDemand(input: ProblemInput): Problem[] {
  if (!isDemandStale(input)) return []
  const { demand, demandFailure } = input.observed
  // A time, because an age would change each second.
  const since =
    demand === undefined ? 'has never been read' : `was last read at ${demand.at.toISOString().slice(0, 19)}Z`
  const why = demandFailure === undefined ? '' : ` (${quote(demandFailure)})`
  return [problem('DemandStale', `The demand ${since}${why}`, harmless)]
}
