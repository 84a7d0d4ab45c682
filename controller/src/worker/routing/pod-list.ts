// Pods of one source, from the first connection to the last response. A source sets the wanted pods; the list probes
// their models, lists usable ones, ejects pods that stall or fail, and closes removed pods after their last request.
// The rules are in pod-member.ts; connections, clock and timers are here.
import { isDeepStrictEqual } from 'node:util'
import { defaultLicencePolicy, judgeLicences, LicenceError, type LicencePolicy } from '@matte/core/model/licence-policy'
import { type Deferred, deferred } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import type { TritonClient } from '../triton/triton-client.ts'
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
  slotsOf,
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
  readonly licences?: LicencePolicy | undefined
  /** 0..1; spreads probes. */
  readonly random?: () => number
}

type Entry = {
  readonly client: TritonClient
  member: Member
  lastOkAt: number
  failingSince: number
  /** Resolves with the first answer, or when the pod stops accepting. */
  readonly firstProbe: Deferred<void>
}

type List = {
  readonly options: PodListOptions
  readonly entries: Map<string, Entry>
  readonly probes: ProbeQueue<Entry>
  readonly origins: WeakMap<Pod, { readonly entry: Entry; readonly epoch: number }>
  readonly listeners: (() => void)[]
  /** Undefined: must be rebuilt. */
  listed: readonly Pod[] | undefined
  isAnnouncing: boolean
}

/** A probe takes about 1 ms of this thread; a thousand new pods must leave room for work. */
const probesAtOnceMax = 32
/** A successful inference proves a pod alive for this long, even if a probe times out. */
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
    /** Sets all wanted pods; others are removed. */
    set: (specs: readonly MemberSpec[]) => setSpecs(list, specs),
    report: (pod: Pod, outcome: Outcome) => report(list, pod, outcome),
    pods: (): readonly Pod[] => {
      list.listed ??= [...list.entries.values()].flatMap((entry) => podsOf(list, entry))
      return list.listed
    },
    errors: () => errorsOf(list),
    settled: async () => {
      const accepting = [...list.entries.values()].filter(({ member }) => member.spec.accepts)
      await Promise.all(accepting.map(({ firstProbe }) => firstProbe.promise))
    },
    onChange: (listener: () => void) => void list.listeners.push(listener),
    start: () => {
      probes.start()
      for (const entry of list.entries.values()) plan(list, entry)
    },
    stop: async () => {
      for (const { client, firstProbe } of list.entries.values()) {
        client.close()
        firstProbe.resolve()
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
    firstProbe: deferred(),
  }
  list.entries.set(keyOf(spec), entry)
  plan(list, entry)
}

function update(list: List, entry: Entry, spec: MemberSpec): void {
  const { accepts } = entry.member.spec
  setMember(list, entry, withSpec(entry.member, spec))
  if (accepts === spec.accepts) return
  if (!spec.accepts) {
    entry.client.endIdleStreams()
    entry.firstProbe.resolve()
  }
  plan(list, entry)
}

function remove(list: List, entry: Entry): void {
  list.entries.delete(keyOf(entry.member.spec))
  list.probes.cancel(entry)
  entry.firstProbe.resolve()
  entry.client.retire()
  announce(list)
}

const isRouted = ({ entries }: List, entry: Entry): boolean =>
  entry.member.spec.accepts && entries.get(keyOf(entry.member.spec)) === entry

function setMember(list: List, entry: Entry, next: Member): void {
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
  entry.firstProbe.resolve()
  if (!isRouted(list, entry)) return
  setMember(list, entry, afterProbeOf(entry.member, epoch, found.some(Boolean)))
  plan(list, entry)
}

async function probeModel(list: List, entry: Entry, model: string): Promise<boolean> {
  const answer = await askModel(list, entry, model)
  logModelAnswer(list.options.logger, entry.member, model, answer)
  setMember(list, entry, afterModelAnswer(entry.member, model, answer))
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
    // A machine busy with images answers probes late; a pod that returns masks is alive.
    const isBusy = answer === 'silent' && performance.now() - entry.lastOkAt < aliveMs
    return answer === 'ready' || isBusy ? 'ready' : 'lost'
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

function report(list: List, pod: Pod, outcome: Outcome): void {
  if (outcome !== 'ok') list.options.metrics.inferenceFailed(outcome)
  const origin = list.origins.get(pod)
  // The pod was ejected after this request began.
  if (origin === undefined || origin.entry.member.epoch !== origin.epoch || !isRouted(list, origin.entry)) return
  const { entry } = origin
  const now = performance.now()
  if (outcome === 'ok') entry.lastOkAt = now
  if (beginsFailures(entry.member, outcome)) entry.failingSince = now
  const othersSucceed = (): boolean => doOthersSucceed(list, entry, pod.pool)
  setMember(list, entry, afterRequest(entry.member, outcome, othersSucceed))
}

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

/** Names and addresses are both reused. */
const keyOf = ({ name, address }: MemberSpec): string => `${name} ${address}`

/** Failed probes of a joining pod before a warning, some eight seconds. */
const missesLogged = 5

export function logChange(logger: Logger, before: Member, after: Member): void {
  const { spec, standing } = after
  const { name: pod, revision, address } = spec
  const fields = { pod, pool: spec.models[0]?.pool, revision }
  if (before.spec.accepts && !spec.accepts) logger.info({ pod, revision }, 'pod drains')
  if (standing === before.standing) return
  if (standing.state === 'ejected' && isUsable(before.standing)) {
    logger.warn({ ...fields, reason: standing.reason, in_a_row: standing.ejections }, 'pod ejected')
  } else if (isUsable(standing) && standing.state !== before.standing.state) {
    const probation = standing.state === 'probation'
    logger.info({ ...fields, probation, slots: slotsOf(after), models: modelsOf(after) }, 'pod ready')
  } else if (standing.state === 'joining' && standing.misses === missesLogged && after.errors.size === 0) {
    logger.warn({ ...fields, address }, 'pod is not ready after repeated probes')
  }
}

/** Nodes with different processors serve different forms of a model. */
const modelsOf = ({ shapes }: Member) => [...shapes].map(([name, { form, views }]) => ({ name, form, views }))

export function logModelAnswer(logger: Logger, { spec, errors }: Member, model: string, answer: ModelAnswer): void {
  const fields = { pod: spec.name, model }
  if (answer instanceof Error) {
    if (errors.get(model)?.message !== answer.message) logger.warn({ ...fields, err: answer }, 'pod not usable')
  } else if (typeof answer === 'object' && errors.has(model)) logger.info(fields, 'pod usable again')
}
