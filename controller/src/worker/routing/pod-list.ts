// The pods that a source knows of, from the first dial to the last answer. A source says which there should be (`set`);
// the list asks each for its models, gives out those that may be used, takes out those that stall or err, and lets go
// of those that are no longer named, when their last picture is done. What it knows is lost with the process: the next
// one asks every pod again. Nothing here waits for a pod that hangs: probes have deadlines, and few run at once.
import { type Deferred, deferred } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import type { ModelShape } from '../triton/model-shape.ts'
import type { TritonClient } from '../triton/triton-client.ts'
import type { PodMetrics } from './pod-metrics.ts'
import {
  afterAnswer,
  afterProbe,
  isUsable,
  joining,
  type Outcome,
  type ProbePauses,
  pauseMs,
  type Standing,
} from './pod-probation.ts'
import type { Pod } from './pod-source.ts'

/** One model that a pod should serve. */
export type ServedModel = {
  readonly pool: string
  readonly tritonModel: string
  readonly modelVersions: readonly string[]
}

/** One pod as its source knows it. */
export type MemberSpec = Pick<Pod, 'address' | 'name' | 'revision' | 'role' | 'weight'> & {
  readonly models: readonly ServedModel[]
  /** The pool's cap on slots. */
  readonly slotsMax?: number
  /** Requests beyond its slots that it gets; none by default. */
  readonly queued?: number
  /** False: it gets no new picture, and finishes what it has. */
  readonly accepts: boolean
}

export type PodListOptions = {
  readonly connect: (address: string) => TritonClient
  readonly pauses: ProbePauses
  readonly logger: Logger
  readonly metrics: PodMetrics
  /** 0..1; spreads probes. */
  readonly random?: () => number
}

export type PodList = {
  /** The pods that there should be, all of them; those not named are let go. */
  set(specs: readonly MemberSpec[]): void
  pods(): readonly Pod[]
  report(pod: Pod, outcome: Outcome): void
  faults(): ReadonlyMap<string, string>
  settled(): Promise<void>
  onChange(listener: () => void): void
  start(): void
  stop(): Promise<void>
}

type Member = {
  spec: MemberSpec
  readonly client: TritonClient
  standing: Standing
  /** Counts what makes an older answer or probe say nothing of the present. */
  epoch: number
  /** Shapes of the models that were ready at the last probe, by name. */
  readonly shapes: Map<string, ModelShape>
  readonly faults: Map<string, string>
  lastOkAt: number
  /** When the present row of failures began. */
  failingSince: number
  timer: NodeJS.Timeout | undefined
  isProbing: boolean
  /** Resolved with the first answer, or when it is not to be asked any more. */
  readonly asked: Deferred<void>
}

/** Dialling and asking a pod takes about a millisecond of this thread: a thousand new ones must leave room for work. */
const probesAtOnce = 32
/** So long a good answer speaks for a pod that leaves a probe unanswered. */
const aliveMs = 10_000
/** After so many vain probes, some eight seconds, a pod that should be there is worth a line in the log. */
const missesTold = 5

export function createPodList(options: PodListOptions): PodList {
  const { connect, pauses, logger, metrics, random = Math.random } = options
  const members = new Map<string, Member>()
  const origins = new WeakMap<Pod, { readonly member: Member; readonly epoch: number }>()
  const listeners: (() => void)[] = []
  const due: Member[] = []
  const probing = new Set<Promise<void>>()
  let listed: readonly Pod[] | undefined
  let told = true
  let running = false

  function changed(): void {
    listed = undefined
    if (!told) return
    told = false
    setImmediate(() => {
      told = true
      for (const listener of listeners) listener()
    })
  }

  function plan(member: Member): void {
    clearTimeout(member.timer)
    member.timer = undefined
    if (!running || !member.spec.accepts) return
    const jitter = 0.8 + 0.4 * random()
    member.timer = setTimeout(() => {
      member.timer = undefined
      due.push(member)
      probeDue()
    }, pauseMs(member.standing, pauses) * jitter)
  }

  function probeDue(): void {
    while (running && probing.size < probesAtOnce) {
      const member = due.shift()
      if (member === undefined) return
      // With a new plan made meanwhile, such as a pause after an ejection, this one no longer counts.
      if (member.isProbing || member.timer !== undefined || !isListed(member)) continue
      const work = probe(member).finally(() => {
        probing.delete(work)
        probeDue()
      })
      probing.add(work)
    }
  }

  const isListed = (member: Member): boolean => member.spec.accepts && members.get(keyOf(member.spec)) === member

  async function probe(member: Member): Promise<void> {
    const { epoch } = member
    member.isProbing = true
    const found = await Promise.all(member.spec.models.map(({ tritonModel }) => askModel(member, tritonModel)))
    member.isProbing = false
    member.asked.resolve()
    if (!isListed(member)) return
    // Taken out, or back, while it was asked: the answer is of another time.
    if (member.epoch === epoch) move(member, afterProbe(member.standing, found.some(Boolean)))
    plan(member)
  }

  /** Whether the model may be used. Its shape is asked for once, and again after it was not ready. */
  async function askModel(member: Member, model: string): Promise<boolean> {
    const { client, shapes, faults, spec } = member
    try {
      if (shapes.has(model)) {
        const answer = await client.isReady(model)
        // A machine whose cores are all busy with pictures answers late, and a pod that gives masks is no pod that hangs.
        if (answer === 'ready' || (answer === 'silent' && performance.now() - member.lastOkAt < aliveMs)) return true
        if (shapes.delete(model)) changed()
        return false
      }
      const shape = await client.readyModel(model)
      if (shape === undefined) return false
      if (faults.delete(model)) logger.info({ pod: spec.name, model }, 'pod usable again')
      shapes.set(model, shape)
      changed()
      return true
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      if (faults.get(model) !== message) logger.warn({ pod: spec.name, model, err: error }, 'pod not usable')
      faults.set(model, message)
      return false
    }
  }

  function move(member: Member, next: Standing): void {
    const { standing, spec } = member
    if (next === standing) return
    member.standing = next
    const fields = { pod: spec.name, pool: spec.models[0]?.pool, revision: spec.revision }
    if (next.state === 'ejected' && isUsable(standing)) {
      member.epoch++
      metrics.ejections.inc({ reason: next.reason })
      logger.warn({ ...fields, reason: next.reason, in_a_row: next.ejections }, 'pod taken out')
      plan(member)
      changed()
    } else if (next.state !== standing.state && isUsable(next)) {
      logger.info({ ...fields, probation: next.state === 'probation', slots: slotsOf(member) }, 'pod ready')
      changed()
    } else if (next.state === 'joining' && next.misses === missesTold && member.faults.size === 0) {
      logger.warn({ ...fields, address: spec.address }, 'pod should be there, and its models are not ready from here')
    }
  }

  function report(pod: Pod, outcome: Outcome): void {
    if (outcome !== 'ok') metrics.streamErrors.inc({ kind: outcome })
    const origin = origins.get(pod)
    // Of a pod that is leaving, or that was taken out meanwhile, nothing follows.
    if (origin === undefined || origin.member.epoch !== origin.epoch || !isListed(origin.member)) return
    const { member } = origin
    const now = performance.now()
    if (outcome === 'ok') member.lastOkAt = now
    const { standing } = member
    if (outcome === 'failed' && isUsable(standing) && standing.failedInRow === 0) member.failingSince = now
    move(
      member,
      afterAnswer(standing, outcome, () => othersSucceed(member, pod.pool)),
    )
  }

  const othersSucceed = (member: Member, pool: string): boolean =>
    [...members.values()].some(
      (other) =>
        other !== member &&
        other.spec.accepts &&
        isUsable(other.standing) &&
        other.lastOkAt >= member.failingSince &&
        other.spec.models.some((model) => model.pool === pool),
    )

  function add(spec: MemberSpec): void {
    const member: Member = {
      spec,
      client: connect(spec.address),
      standing: joining,
      epoch: 0,
      shapes: new Map(),
      faults: new Map(),
      lastOkAt: Number.NEGATIVE_INFINITY,
      failingSince: 0,
      timer: undefined,
      isProbing: false,
      asked: deferred(),
    }
    members.set(keyOf(spec), member)
    plan(member)
  }

  function update(member: Member, spec: MemberSpec): void {
    const { accepts } = member.spec
    member.spec = spec
    forget(member)
    changed()
    if (accepts === spec.accepts) return
    if (!spec.accepts) {
      logger.info({ pod: spec.name, revision: spec.revision }, 'pod gets no new pictures')
      member.client.endIdleStreams()
      member.asked.resolve()
    } else if (isUsable(member.standing)) {
      // It was not ready meanwhile, so it is asked again before it is used.
      member.standing = joining
      member.epoch++
    }
    plan(member)
  }

  /** What is known of models that the pod no longer serves. */
  function forget({ spec, shapes, faults }: Member): void {
    const names = new Set(spec.models.map(({ tritonModel }) => tritonModel))
    for (const known of [shapes, faults]) for (const model of known.keys()) if (!names.has(model)) known.delete(model)
  }

  function remove(key: string, member: Member): void {
    members.delete(key)
    clearTimeout(member.timer)
    member.asked.resolve()
    member.client.retire()
    changed()
  }

  function set(specs: readonly MemberSpec[]): void {
    const wanted = new Map(specs.map((spec) => [keyOf(spec), spec]))
    for (const [key, member] of members) if (!wanted.has(key)) remove(key, member)
    for (const [key, spec] of wanted) {
      const member = members.get(key)
      if (member === undefined) add(spec)
      else if (!isSame(member.spec, spec)) update(member, spec)
    }
  }

  function podsOf(member: Member): Pod[] {
    const { spec, client, shapes, standing, epoch } = member
    if (!spec.accepts || !isUsable(standing)) return []
    const { address, name, revision, role, weight } = spec
    const podSlots = slotsOf(member)
    const onProbation = standing.state === 'probation'
    const common = { address, name, revision, role, weight, client, podSlots, onProbation }
    return spec.models.flatMap(({ pool, tritonModel, modelVersions }) => {
      const told = shapes.get(tritonModel)
      if (told === undefined) return []
      const shape = { ...told, slots: Math.min(told.slots + (spec.queued ?? 0), podSlots) }
      const pod: Pod = { ...common, pool, tritonModel, modelVersions, shape }
      origins.set(pod, { member, epoch })
      return [pod]
    })
  }

  return {
    set,
    report,
    pods: () => {
      listed ??= [...members.values()].flatMap(podsOf)
      return listed
    },
    faults: () =>
      new Map(
        [...members.values()]
          .filter(({ faults }) => faults.size > 0)
          .map(({ spec, faults }) => [spec.name, [...faults.values()].join('; ')]),
      ),
    settled: async () => {
      const accepting = [...members.values()].filter(({ spec }) => spec.accepts)
      await Promise.all(accepting.map(({ asked }) => asked.promise))
    },
    onChange: (listener) => {
      listeners.push(listener)
    },
    start: () => {
      running = true
      for (const member of members.values()) plan(member)
    },
    stop: async () => {
      running = false
      for (const { timer, client, asked } of members.values()) {
        clearTimeout(timer)
        client.close()
        asked.resolve()
      }
      await Promise.all(probing)
    },
  }
}

/** An address may be given to another pod, and a pod's name to another address. */
const keyOf = ({ name, address }: MemberSpec): string => `${name} ${address}`

const isSame = (a: MemberSpec, b: MemberSpec): boolean => a === b || JSON.stringify(a) === JSON.stringify(b)

/** Its models share one machine, which is sized for the one that takes most. */
function slotsOf({ spec, shapes, standing }: Member): number {
  if (standing.state === 'probation') return 1
  const most = Math.max(1, ...[...shapes.values()].map(({ slots }) => slots))
  return Math.min(most, spec.slotsMax ?? most) + (spec.queued ?? 0)
}
