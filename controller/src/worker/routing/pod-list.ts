// The pods that a source knows of, from the first dial to the last answer. A source says which there should be (`set`);
// the list asks each for its models, gives out those that may be used, takes out those that stall or err, and lets go
// of those that are no longer named, when their last request is done. The rules are in pod-member.ts; here are the
// connections, the clock and the timers.
import { isDeepStrictEqual } from 'node:util'
import { defaultLicencePolicy, judgeLicences, LicenceError, type LicencePolicy } from '@matte/core/model/licence-policy'
import { type Deferred, deferred } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import type { TritonClient } from '../triton/triton-client.ts'
import { logChange, logModelAnswer } from './member-log.ts'
import {
  afterModelAnswer,
  afterProbeOf,
  afterRequest,
  beginsFailures,
  buildPods,
  isListedOtherwise,
  type Member,
  type MemberSpec,
  type ModelAnswer,
  mayUse,
  newMember,
  withSpec,
} from './pod-member.ts'
import type { PodMetrics } from './pod-metrics.ts'
import { isUsable, type Outcome, type ProbePauses, pauseMs } from './pod-probation.ts'
import type { Pod, PodError } from './pod-source.ts'
import { createProbeQueue, type ProbeQueue } from './probe-queue.ts'

type PodListOptions = {
  readonly connect: (address: string) => TritonClient
  readonly pauses: ProbePauses
  readonly logger: Logger
  readonly metrics: PodMetrics
  /** Which models may be used; by default what `licence-policy.ts` says. */
  readonly licences?: LicencePolicy | undefined
  /** 0..1; spreads probes. */
  readonly random?: () => number
}

type Entry = {
  readonly client: TritonClient
  /** Replaced by each change. */
  member: Member
  lastOkAt: number
  /** When the present row of failures began. */
  failingSince: number
  /** Resolved with the first answer, or when it is not to be asked any more. */
  readonly asked: Deferred<void>
}

type List = {
  readonly options: PodListOptions
  readonly entries: Map<string, Entry>
  readonly probes: ProbeQueue<Entry>
  /** What a pod that was given out was made of, so that what is reported of it finds its entry. */
  readonly origins: WeakMap<Pod, { readonly entry: Entry; readonly epoch: number }>
  readonly listeners: (() => void)[]
  /** Undefined: to be made again. */
  listed: readonly Pod[] | undefined
  /** A change is about to be announced. */
  isAnnouncing: boolean
}

/** Dialling and asking a pod takes about a millisecond of this thread: a thousand new ones must leave room for work. */
const probesAtOnceMax = 32
/** So long a good answer speaks for a pod that leaves a probe unanswered. */
const aliveMs = 10_000

export function createPodList(options: PodListOptions) {
  const probes = createProbeQueue<Entry>({
    atOnceMax: probesAtOnceMax,
    probe: (entry) => probe(list, entry),
    isWanted: (entry) => isRouted(list, entry),
  })
  const list: List = {
    options,
    entries: new Map(),
    probes,
    origins: new WeakMap(),
    listeners: [],
    listed: undefined,
    isAnnouncing: false,
  }
  return {
    /** The pods that there should be, all of them; those not named are let go. */
    set: (specs: readonly MemberSpec[]) => setSpecs(list, specs),
    report: (pod: Pod, outcome: Outcome) => report(list, pod, outcome),
    pods: (): readonly Pod[] => {
      list.listed ??= [...list.entries.values()].flatMap((entry) => podsOf(list, entry))
      return list.listed
    },
    errors: () => errorsOf(list),
    settled: async () => {
      const accepting = [...list.entries.values()].filter(({ member }) => member.spec.accepts)
      await Promise.all(accepting.map(({ asked }) => asked.promise))
    },
    onChange: (listener: () => void) => void list.listeners.push(listener),
    start: () => {
      probes.start()
      for (const entry of list.entries.values()) plan(list, entry)
    },
    stop: async () => {
      for (const { client, asked } of list.entries.values()) {
        client.close()
        asked.resolve()
      }
      await probes.stop()
    },
  }
}

function setSpecs(list: List, specs: readonly MemberSpec[]): void {
  const wanted = new Map(specs.map((spec) => [keyOf(spec), spec]))
  for (const [key, entry] of list.entries) if (!wanted.has(key)) remove(list, entry)
  for (const [key, spec] of wanted) {
    const entry = list.entries.get(key)
    if (entry === undefined) add(list, spec)
    else if (!isDeepStrictEqual(entry.member.spec, spec)) update(list, entry, spec)
  }
}

function add(list: List, spec: MemberSpec): void {
  const entry: Entry = {
    client: list.options.connect(spec.address),
    member: newMember(spec),
    lastOkAt: Number.NEGATIVE_INFINITY,
    failingSince: 0,
    asked: deferred(),
  }
  list.entries.set(keyOf(spec), entry)
  plan(list, entry)
}

function update(list: List, entry: Entry, spec: MemberSpec): void {
  const { accepts } = entry.member.spec
  become(list, entry, withSpec(entry.member, spec))
  if (accepts === spec.accepts) return
  if (!spec.accepts) {
    entry.client.endIdleStreams()
    entry.asked.resolve()
  }
  plan(list, entry)
}

function remove(list: List, entry: Entry): void {
  list.entries.delete(keyOf(entry.member.spec))
  list.probes.cancel(entry)
  entry.asked.resolve()
  entry.client.retire()
  announce(list)
}

/** Of one that is leaving, or has left, nothing follows. */
const isRouted = ({ entries }: List, entry: Entry): boolean =>
  entry.member.spec.accepts && entries.get(keyOf(entry.member.spec)) === entry

function become(list: List, entry: Entry, next: Member): void {
  const { member } = entry
  if (next === member) return
  const { logger, metrics } = list.options
  entry.member = next
  logChange(logger, member, next)
  if (next.standing.state === 'ejected' && isUsable(member.standing)) {
    metrics.ejected(next.standing.reason)
    plan(list, entry)
  }
  if (isListedOtherwise(member, next)) announce(list)
}

/** Calls the listeners soon, once for all that comes until then. */
function announce(list: List): void {
  list.listed = undefined
  if (list.isAnnouncing) return
  list.isAnnouncing = true
  setImmediate(() => {
    list.isAnnouncing = false
    for (const listener of list.listeners) listener()
  })
}

function plan({ options, probes }: List, entry: Entry): void {
  const { pauses, random = Math.random } = options
  const { spec, standing } = entry.member
  const jitter = 0.8 + 0.4 * random()
  if (spec.accepts) probes.plan(entry, pauseMs(standing, pauses) * jitter)
  else probes.cancel(entry)
}

async function probe(list: List, entry: Entry): Promise<void> {
  const { epoch, spec } = entry.member
  const found = await Promise.all(spec.models.map(({ tritonModel }) => probeModel(list, entry, tritonModel)))
  entry.asked.resolve()
  if (!isRouted(list, entry)) return
  become(list, entry, afterProbeOf(entry.member, epoch, found.some(Boolean)))
  plan(list, entry)
}

/** Whether the model may be used. */
async function probeModel(list: List, entry: Entry, model: string): Promise<boolean> {
  const answer = await askModel(list, entry, model)
  logModelAnswer(list.options.logger, entry.member, model, answer)
  become(list, entry, afterModelAnswer(entry.member, model, answer))
  return mayUse(answer)
}

async function askModel({ options }: List, entry: Entry, model: string): Promise<ModelAnswer> {
  const { client, member } = entry
  try {
    if (!member.shapes.has(model)) {
      const shape = await client.readyModel(model)
      if (shape === undefined) return 'unready'
      const said = member.spec.models.find(({ tritonModel }) => tritonModel === model)?.licence
      return judgeLicences(options.licences ?? defaultLicencePolicy, model, [shape.licence, said]) ?? shape
    }
    const answer = await client.isReady(model)
    // A machine whose cores are all busy with images answers late, and a pod that gives masks is no pod that hangs.
    const isBusy = answer === 'silent' && performance.now() - entry.lastOkAt < aliveMs
    return answer === 'ready' || isBusy ? 'ready' : 'lost'
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

function report(list: List, pod: Pod, outcome: Outcome): void {
  if (outcome !== 'ok') list.options.metrics.inferenceFailed(outcome)
  const origin = list.origins.get(pod)
  // An answer from before the pod was taken out says nothing.
  if (origin === undefined || origin.entry.member.epoch !== origin.epoch || !isRouted(list, origin.entry)) return
  const { entry } = origin
  const now = performance.now()
  if (outcome === 'ok') entry.lastOkAt = now
  if (beginsFailures(entry.member, outcome)) entry.failingSince = now
  const othersSucceed = (): boolean => doOthersSucceed(list, entry, pod.pool)
  become(list, entry, afterRequest(entry.member, outcome, othersSucceed))
}

/** Since the entry's present row of failures began, another usable pod of this pool has answered well. */
const doOthersSucceed = ({ entries }: List, entry: Entry, pool: string): boolean =>
  [...entries.values()].some(
    (other) =>
      other !== entry &&
      other.member.spec.accepts &&
      isUsable(other.member.standing) &&
      other.lastOkAt >= entry.failingSince &&
      other.member.spec.models.some((model) => model.pool === pool),
  )

function podsOf({ origins }: List, entry: Entry): Pod[] {
  const { member, client } = entry
  const pods = buildPods(member, client)
  for (const pod of pods) origins.set(pod, { entry, epoch: member.epoch })
  return pods
}

const errorsOf = ({ entries }: List): ReadonlyMap<string, PodError> =>
  new Map(
    [...entries.values()]
      .filter(({ member }) => member.errors.size > 0)
      .map(({ member: { spec, errors } }) => {
        const all = [...errors.values()]
        const reason = all.some((error) => error instanceof LicenceError) ? 'LicenceRefused' : 'ModelShapeWrong'
        return [spec.address, { reason, message: all.map(({ message }) => message).join('; ') }]
      }),
  )

/** An address may be given to another pod, and a pod's name to another address. */
const keyOf = ({ name, address }: MemberSpec): string => `${name} ${address}`
