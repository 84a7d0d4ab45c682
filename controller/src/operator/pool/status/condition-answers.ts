// The ten conditions of a pool. A message contains no number that changes by itself, because every difference rewrites
// the status.
import type { ConditionAnswer } from '../conditions.ts'
import type { ModelState, ModelStatus, ScalingEntry } from '../pool-status.ts'
import { type ConditionType, conditionTypes, loadReasons, type Reason, reasons } from '../reasons.ts'
import type { PodCounts, StatusInput } from './observation.ts'
import { isDemandStale, lacksRoom, type Problem } from './problems.ts'
import { describeGap, findPause } from './rollout-waits.ts'
import { answerReconciling, answerStalled } from './spec-progress.ts'

type AnswerInput = StatusInput & {
  readonly counts: PodCounts
  readonly problems: readonly Problem[]
  readonly models: readonly ModelStatus[]
  readonly history: readonly ScalingEntry[]
}

type Answer = Omit<ConditionAnswer, 'type'>

const rules: Readonly<Record<ConditionType, (input: AnswerInput) => Answer>> = {
  Ready: answerReady,
  ModelLoaded: answerModelLoaded,
  ScalingActive: answerScalingActive,
  ScalingLimited: answerScalingLimited,
  Draining: answerDraining,
  Progressing: answerProgressing,
  RolledBack: answerRolledBack,
  Degraded: answerDegraded,
  Reconciling: (input) =>
    answerReconciling(input, {
      ready: answerReady(input),
      progressing: answerProgressing(input),
      stalled: answerStalledOf(input),
    }),
  Stalled: answerStalledOf,
}

function answerStalledOf(input: AnswerInput): Answer {
  return answerStalled(input, { ready: answerReady(input), rolledBack: answerRolledBack(input) })
}

export const answerConditions = (input: AnswerInput): ConditionAnswer[] =>
  conditionTypes.map((type) => ({ type, ...rules[type](input) }))

const yes = (reason: Reason, message: string): Answer => ({ status: 'True', reason, message })
const no = (reason: Reason, message: string): Answer => ({ status: 'False', reason, message })

function answerReady(input: AnswerInput): Answer {
  const { counts, decision, problems, rollout } = input
  const missing = problems.find(({ reason }) => reason === 'SourceMissing')
  if (missing !== undefined && counts.ready === 0) return no(missing.reason, missing.message)
  if (decision.replicas === 0 && counts.replicas === 0) return yes('AtZero', atZeroMessage(input))
  if (!canServe(input)) return answerNotReady(input)
  const many = counts.ready < decision.replicas ? `${counts.ready} of ${pods(decision.replicas)}` : pods(counts.ready)
  const serving = `${many} ${counts.ready === 1 ? 'serves' : 'serve'} requests.`
  const pause = findPause(input)
  if (pause !== undefined) return yes(pause.reason, `${serving} ${pause.message}`)
  const [worst] = problems
  if (worst !== undefined) return yes(worst.reason, `${serving} ${worst.message}`)
  if (rollout.failed !== undefined) return yes('RolledBack', `${serving} ${answerRolledBack(input).message}`)
  if (input.held !== undefined) return yes(input.held.reason, `${serving} ${input.held.message}`)
  if (rollout.canary !== undefined && rollout.stable !== undefined) {
    return yes('RolloutInProgress', `${serving} ${answerProgressing(input).message}`)
  }
  const starting = countStarting(input)
  return yes('Available', starting === 0 ? serving : `${serving} ${pods(starting)} ${areStarting(starting)}.`)
}

const canServe = ({ counts, models }: AnswerInput): boolean =>
  counts.ready > 0 && models.some(({ active, target }) => !unusable.includes((active ?? target).state))

const unusable: readonly ModelState[] = ['WrongShape', 'LicenceRefused']

const countStarting = ({ counts, decision }: AnswerInput): number =>
  Math.max(decision.replicas, counts.replicas) - counts.ready

function atZeroMessage({ pool, observed }: AnswerInput): string {
  if (pool.spec.scaling.owner === 'external') {
    return 'The external owner asks for no pods. Requests wait until it asks for one.'
  }
  const wait = observed.startSeconds === undefined ? '' : `, in about ${Math.ceil(observed.startSeconds)} s`
  return (
    `No requests wait, so there are no pods. The first request starts one${wait}. ` +
    'Set scaling.minReplicas to 1 to avoid the cold start.'
  )
}

/** About three times a start of Triton with a small model on a busy machine. */
const startPatienceSeconds = 120

function answerNotReady(input: AnswerInput): Answer {
  const { counts, decision, problems, observed, models, now } = input
  const gap = describeGap(input.rollout, observed.startSeconds)
  const blocking = problems.find((problem) => problem.blocking)
  if (blocking !== undefined) {
    return no(blocking.reason, gap === undefined ? blocking.message : `${gap} ${blocking.message}`)
  }
  if (gap !== undefined) return no('Starting', gap)
  const running = observed.pods.filter(({ draining, phase }) => !draining && phase === 'Running')
  const loading = models.some(({ target }) => target.state === 'Loading')
  const old = running.filter((pod) => now.getTime() - pod.createdAt.getTime() > startPatienceSeconds * 1000)
  const [sample] = old
  if (sample !== undefined && !loading && old.length === counts.replicas) {
    return no(
      'NoPodReady',
      `Pod ${sample.name} runs but serves no requests. Read its log: kubectl logs ${sample.name}.`,
    )
  }
  const usual =
    observed.startSeconds === undefined ? '' : ` A start usually takes about ${Math.ceil(observed.startSeconds)} s.`
  const many = Math.max(decision.replicas, counts.replicas)
  return no(
    'Starting',
    `${pods(many)} ${areStarting(many)}; none serves requests yet.${usual} Requests wait until one does.`,
  )
}

function answerModelLoaded(input: AnswerInput): Answer {
  const { models, problems, decision, counts, rollout } = input
  const bad = problems.find(({ reason, revision }) => loadReasons.includes(reason) && revision === rollout.stable)
  if (bad !== undefined) return no(bad.reason, bad.message)
  const waiting = models.filter(({ active, target }) => (active ?? target).state !== 'Loaded').map(({ name }) => name)
  if (waiting.length === 0) return yes('Loaded', loadedMessage(input))
  if (decision.replicas === 0 && counts.replicas === 0) {
    return { status: 'Unknown', reason: 'AtZero', message: 'There are no pods, so no model is loaded. Nothing to do.' }
  }
  const advice = problems.some(({ blocking }) => blocking) ? 'The condition Degraded says why.' : 'Wait.'
  return no('Loading', `Not loaded yet: ${waiting.join(', ')}. ${advice}`)
}

function loadedMessage({ models, rollout }: AnswerInput): string {
  const names = models.map(({ name }) => name).join(', ')
  const blocked = models.find(
    ({ target, transition }) =>
      (transition === 'BlockedByFailedLoad' || transition === 'InvalidSpec') && target.revision !== rollout.stable,
  )
  if (blocked === undefined) return `Loaded: ${names}.`
  return (
    `Loaded: ${names}, in revision ${rollout.stable}, which keeps serving. Revision ${blocked.target.revision} does ` +
    'not load: correct what lastFailure in status.models reports.'
  )
}

function answerScalingActive(input: AnswerInput): Answer {
  const { pool, decision, problems, history } = input
  if (pool.spec.scaling.owner === 'external') {
    return no(
      'ExternalOwner',
      `The scale subresource asks for ${pods(decision.replicas)}. ${reasons.ExternalOwner.act}`,
    )
  }
  const stale = problems.find(({ reason }) => reason === 'DemandStale')
  if (isDemandStale(input) && stale !== undefined) {
    return no('DemandStale', `Keeps ${pods(decision.replicas)} until the demand is known again. ${stale.message}`)
  }
  const last = history.at(-1)
  const why =
    last === undefined ? '' : ` Last changed from ${last.from} to ${last.to} at ${last.time}: ${last.sentence}`
  return yes('FollowsDemand', `Desired by demand: ${pods(decision.replicas)}.${why}`)
}

function answerScalingLimited({ pool, decision, observed }: AnswerInput): Answer {
  const { minReplicas, maxReplicas, schedules = [] } = observed.bounds
  if (pool.spec.scaling.owner === 'external') {
    return no('ExternalOwner', 'The bounds are not in use, because the external owner decides. Nothing to do.')
  }
  switch (decision.limited) {
    case 'maximum':
      return yes('AtMaximum', `The demand needs more than ${pods(maxReplicas)}, the maximum. ${reasons.AtMaximum.act}`)
    case 'minimum':
      return yes('AtMinimum', `The demand needs fewer than ${pods(minReplicas)}, the minimum. ${reasons.AtMinimum.act}`)
    case 'schedule':
      return yes(
        'ScheduleBound',
        `Schedule ${schedules.join(', ')} limits the pool to ${minReplicas} to ${pods(maxReplicas)}. ` +
          reasons.ScheduleBound.act,
      )
    default:
      return no('WithinBounds', `Within the bounds of ${minReplicas} and ${pods(maxReplicas)}. Nothing to do.`)
  }
}

function answerDraining({ pool, observed, counts }: AnswerInput): Answer {
  if (counts.draining === 0) return no('NothingDraining', 'No pod is draining. Nothing to do.')
  const going = observed.pods.filter(({ draining }) => draining).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  // Reasons of Matte first; a foreign deletion only if it is the only one.
  const ours = (['RevisionReplaced', 'ScaleDown'] as const).find((one) => going.some((pod) => pod.drainReason === one))
  const names = Array.from(going.slice(0, 3), ({ name }) => name).join(', ')
  const more = going.length > 3 ? ` and ${going.length - 3} more` : ''
  const does = going.length === 1 ? 'finishes its requests and exits' : 'finish their requests and exit'
  const { graceSeconds } = pool.spec.drain
  const message = `${names}${more} ${does} within ${graceSeconds} s. New requests go to other pods. Nothing to do.`
  return yes(ours ?? 'PodDeleted', message)
}

function answerProgressing(input: AnswerInput): Answer {
  const { rollout, problems, target, held } = input
  const { stable, canary, since, failed } = rollout
  // Unknown, as for a paused Deployment. A queued rollout proceeds by itself.
  if (held?.reason === 'RolloutPaused') return { status: 'Unknown', ...held }
  if (held !== undefined) return yes(held.reason, held.message)
  const pause = findPause(input)
  if (pause !== undefined) return no(pause.reason, pause.message)
  if (canary !== undefined && stable !== undefined) {
    const isLeaving = canary === failed?.revision || canary !== target
    const awaited = isLeaving ? stable : canary
    // Lack of room blocks only after `gate.readySeconds`, because the old revision may make room.
    const blocked = problems.find((one) => one.blocking && one.revision === awaited && !lacksRoom(one))
    if (blocked !== undefined) {
      const what = isLeaving
        ? `Pods of ${stable} do not become ready, so as many pods of ${canary} are kept.`
        : `Revision ${canary} does not become ready; ${stable} keeps serving.`
      return no('RolloutBlocked', `${what} ${blocked.message}`)
    }
    const what = isLeaving
      ? `Requests move back from ${canary} to ${stable} as its pods become ready. Wait.`
      : `Revision ${canary} ${describeStep(input)}, since ${since}; ${stable} serves the rest. Nothing to do.`
    return yes('RolloutInProgress', what)
  }
  const starting = countStarting(input)
  const blocked = problems.find((problem) => problem.blocking)
  if (starting > 0 && blocked !== undefined) {
    return no(blocked.reason, `${pods(starting)} not ready yet; the condition Degraded says why.`)
  }
  if (starting > 0) return yes('PodsStarting', `${pods(starting)} ${areStarting(starting)}. Wait.`)
  if (rollout.failed !== undefined) {
    return no('RolledBack', `Revision ${rollout.failed.revision} was rolled back; the condition RolledBack says why.`)
  }
  return no('Settled', 'The pool matches spec. Nothing to do.')
}

function describeStep({ pool, rollout: { weight, step } }: AnswerInput): string {
  const { steps } = pool.spec.rollout
  if (step < 0) return 'gets no requests until one of its pods is ready'
  const which = step < steps.length ? `step ${step + 1} of ${steps.length}` : 'and takes over as its pods become ready'
  return `gets ${weight} % of the requests, ${which}`
}

function answerRolledBack({ rollout }: AnswerInput): Answer {
  const { failed, stable, canary } = rollout
  const serving = canary === failed?.revision ? `${stable} takes its requests` : `${stable} serves`
  if (failed === undefined) return no('NotRolledBack', 'The revision in spec has not been rolled back. Nothing to do.')
  const { act } = reasons[failed.reason]
  return yes(
    failed.reason,
    `Revision ${failed.revision} was rolled back at ${failed.time}; ${serving}. ${failed.message}. ${act}`,
  )
}

const problemsMax = 3

function answerDegraded({ problems }: AnswerInput): Answer {
  const [worst] = problems
  if (worst === undefined) return no('NothingWrong', 'No problem is known. Nothing to do.')
  const shown = problems.slice(0, problemsMax).map(({ message }) => message)
  const rest = problems.length - shown.length
  return yes(worst.reason, [...shown, ...(rest > 0 ? [`And ${rest} more.`] : [])].join(' '))
}

const pods = (count: number): string => (count === 0 ? 'no pods' : count === 1 ? '1 pod' : `${count} pods`)
const areStarting = (count: number): string => (count === 1 ? 'is starting' : 'are starting')
