// What the list knows of one pod, as a pure state machine: what its source says of it, what it has answered, and
// whether it may be used (pod-probation.ts). Time, connections and log lines are the list's (pod-list.ts).
import type { ModelShape } from '../triton/model-shape.ts'
import type { TritonClient } from '../triton/triton-client.ts'
import { afterAnswer, afterProbe, isUsable, joining, type Outcome, type Standing } from './pod-probation.ts'
import type { Pod } from './pod-source.ts'

/** One model that a pod should serve. */
export type ServedModel = Pick<Pod, 'pool' | 'tritonModel' | 'modelVersions' | 'licence'>

/** One pod as its source knows it. */
export type MemberSpec = Pick<Pod, 'address' | 'name' | 'revision' | 'role' | 'weight'> & {
  readonly models: readonly ServedModel[]
  /** The pool's cap on slots. */
  readonly slotsMax?: number
  /** Requests beyond its slots that it gets; none by default. */
  readonly queued?: number
  /** False: it gets no new request, and finishes what it has. */
  readonly accepts: boolean
}

export type Member = {
  readonly spec: MemberSpec
  readonly standing: Standing
  /** Counts what makes an older answer or probe say nothing of the present. */
  readonly epoch: number
  /** Shapes of the models that were ready at the last probe, by name. */
  readonly shapes: ReadonlyMap<string, ModelShape>
  /** Why models cannot be used although they are ready, by name. */
  readonly errors: ReadonlyMap<string, Error>
}

export const newMember = (spec: MemberSpec): Member => ({
  spec,
  standing: joining,
  epoch: 0,
  shapes: new Map(),
  errors: new Map(),
})

/**
 * Its source says something else of it. What is known of models that it no longer serves, or of which another licence
 * is said now, is forgotten.
 */
export function withSpec(member: Member, spec: MemberSpec): Member {
  const licences = new Map(member.spec.models.map(({ tritonModel, licence }) => [tritonModel, licence]))
  const kept = spec.models.filter(({ tritonModel, licence }) => licences.get(tritonModel) === licence)
  const names = new Set(kept.map(({ tritonModel }) => tritonModel))
  const shapes = keepNamed(member.shapes, names)
  const next = { ...member, spec, shapes, errors: keepNamed(member.errors, names) }
  // A pod that accepts again was not ready meanwhile, so it is asked again before it is used.
  const isBack = spec.accepts && !member.spec.accepts && isUsable(member.standing)
  return isBack ? { ...next, standing: joining, epoch: member.epoch + 1 } : next
}

const keepNamed = <V>(known: ReadonlyMap<string, V>, names: ReadonlySet<string>): ReadonlyMap<string, V> =>
  [...known.keys()].every((name) => names.has(name)) ? known : new Map([...known].filter(([name]) => names.has(name)))

/**
 * What the pod says of one model. Its shape is asked for once, `unready` until it is known; then whether it is still
 * `ready`, and when it is `lost` its shape is asked for again. An Error: it is ready and cannot be used.
 */
export type ModelAnswer = ModelShape | 'unready' | 'ready' | 'lost' | Error

export const mayUse = (answer: ModelAnswer): boolean =>
  answer === 'ready' || (typeof answer === 'object' && !(answer instanceof Error))

export function afterModelAnswer(member: Member, model: string, answer: ModelAnswer): Member {
  const { shapes, errors } = member
  if (answer === 'ready' || answer === 'unready') return member
  if (answer === 'lost') return { ...member, shapes: without(shapes, model) }
  if (answer instanceof Error) return { ...member, errors: new Map(errors).set(model, answer) }
  return { ...member, shapes: new Map(shapes).set(model, answer), errors: without(errors, model) }
}

function without<V>(map: ReadonlyMap<string, V>, name: string): ReadonlyMap<string, V> {
  if (!map.has(name)) return map
  const rest = new Map(map)
  rest.delete(name)
  return rest
}

/** All its models were asked, from this epoch on: an answer of another time says nothing. */
export const afterProbeOf = (member: Member, epoch: number, isReady: boolean): Member =>
  member.epoch === epoch ? withStanding(member, afterProbe(member.standing, isReady)) : member

/** A request on it has ended. The very same member when nothing follows, as after most requests. */
export const afterRequest = (member: Member, outcome: Outcome, othersSucceed: () => boolean): Member =>
  withStanding(member, afterAnswer(member.standing, outcome, othersSucceed))

export const beginsFailures = ({ standing }: Member, outcome: Outcome): boolean =>
  outcome === 'failed' && isUsable(standing) && standing.failedInRow === 0

function withStanding(member: Member, standing: Standing): Member {
  if (standing === member.standing) return member
  const isTakenOut = standing.state === 'ejected' && isUsable(member.standing)
  return { ...member, standing, epoch: isTakenOut ? member.epoch + 1 : member.epoch }
}

/** Whether the pods that may be used are others than before. */
export const isListedOtherwise = (before: Member, after: Member): boolean =>
  before.spec !== after.spec || before.shapes !== after.shapes || before.standing.state !== after.standing.state

/** Its models share one machine, which is sized for the one that takes most. */
export function slotsOf({ spec, shapes, standing }: Member): number {
  if (standing.state === 'probation') return 1
  const most = Math.max(1, ...[...shapes.values()].map(({ slots }) => slots))
  return Math.min(most, spec.slotsMax ?? most) + (spec.queued ?? 0)
}

/** What of it may be used now: one entry for each of its models that is ready. */
export function buildPods(member: Member, client: TritonClient): Pod[] {
  const { spec, shapes, standing } = member
  if (!spec.accepts || !isUsable(standing)) return []
  const { address, name, revision, role, weight } = spec
  const podSlots = slotsOf(member)
  const onProbation = standing.state === 'probation'
  const common = { address, name, revision, role, weight, client, podSlots, onProbation }
  return spec.models.flatMap(({ pool, tritonModel, modelVersions, licence }) => {
    const known = shapes.get(tritonModel)
    if (known === undefined) return []
    const shape = { ...known, slots: Math.min(known.slots + (spec.queued ?? 0), podSlots) }
    return [{ ...common, pool, tritonModel, modelVersions, licence, shape }]
  })
}
