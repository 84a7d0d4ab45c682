// State of one pod in the routing list; a pure state machine. pod-list.ts has the clock, connections and logs.
import type { ModelShape } from '../triton/model-shape.ts'
import type { TritonClient } from '../triton/triton-client.ts'
import { afterAnswer, afterProbe, isUsable, joining, type Outcome, type Standing } from './pod-probation.ts'
import type { Pod } from './pod-source.ts'

export type ServedModel = Pick<Pod, 'pool' | 'tritonModel' | 'modelVersions' | 'licence'>

export type MemberSpec = Pick<Pod, 'address' | 'name' | 'revision' | 'role' | 'weight'> & {
  readonly models: readonly ServedModel[]
  readonly slotsMax?: number
  /** Requests accepted beyond the slots. */
  readonly queued?: number
  /** False: no new requests; those in flight finish. */
  readonly accepts: boolean
}

export type Member = {
  readonly spec: MemberSpec
  readonly standing: Standing
  /** Answers and probes of an older epoch are ignored. */
  readonly epoch: number
  readonly shapes: ReadonlyMap<string, ModelShape>
  /** Errors of models that are ready but unusable, by name. */
  readonly errors: ReadonlyMap<string, Error>
}

export const newMember = (spec: MemberSpec): Member => ({
  spec,
  standing: joining,
  epoch: 0,
  shapes: new Map(),
  errors: new Map(),
})

/** Forgets models that are no longer served or whose declared licence changed. */
export function withSpec(member: Member, spec: MemberSpec): Member {
  const licences = new Map(member.spec.models.map(({ tritonModel, licence }) => [tritonModel, licence]))
  const kept = spec.models.filter(({ tritonModel, licence }) => licences.get(tritonModel) === licence)
  const names = new Set(kept.map(({ tritonModel }) => tritonModel))
  const shapes = keepNamed(member.shapes, names)
  const next = { ...member, spec, shapes, errors: keepNamed(member.errors, names) }
  // A pod that accepts again is probed before use.
  const isBack = spec.accepts && !member.spec.accepts && isUsable(member.standing)
  return isBack ? { ...next, standing: joining, epoch: member.epoch + 1 } : next
}

const keepNamed = <V>(known: ReadonlyMap<string, V>, names: ReadonlySet<string>): ReadonlyMap<string, V> =>
  [...known.keys()].every((name) => names.has(name)) ? known : new Map([...known].filter(([name]) => names.has(name)))

/** A shape is read once; after that `ready`, or `lost`, which reads it again. An Error: ready but unusable. */
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

export const afterProbeOf = (member: Member, epoch: number, isReady: boolean): Member =>
  member.epoch === epoch ? withStanding(member, afterProbe(member.standing, isReady)) : member

/** Returns the same object when nothing changes, as after most requests. */
export const afterRequest = (member: Member, outcome: Outcome, othersSucceed: () => boolean): Member =>
  withStanding(member, afterAnswer(member.standing, outcome, othersSucceed))

export const beginsFailures = ({ standing }: Member, outcome: Outcome): boolean =>
  outcome === 'failed' && isUsable(standing) && standing.failedInRow === 0

function withStanding(member: Member, standing: Standing): Member {
  if (standing === member.standing) return member
  const isTakenOut = standing.state === 'ejected' && isUsable(member.standing)
  return { ...member, standing, epoch: isTakenOut ? member.epoch + 1 : member.epoch }
}

export const isListedOtherwise = (before: Member, after: Member): boolean =>
  before.spec !== after.spec || before.shapes !== after.shapes || before.standing.state !== after.standing.state

/** The models share one machine, sized for the largest. */
export function slotsOf({ spec, shapes, standing }: Member): number {
  if (standing.state === 'probation') return 1
  const most = Math.max(1, ...[...shapes.values()].map(({ slots }) => slots))
  return Math.min(most, spec.slotsMax ?? most) + (spec.queued ?? 0)
}

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
