import type { Condition } from './pool-status.ts'
import { type ConditionType, conditionTypes } from './reasons.ts'

export type ConditionAnswer = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>

/** Replaces the condition. `lastTransitionTime` changes only with the status. */
export function setCondition(
  conditions: readonly Condition[],
  answer: ConditionAnswer,
  { now, generation }: { readonly now: Date; readonly generation: number },
): Condition[] {
  const before = conditions.find(({ type }) => type === answer.type)
  const lastTransitionTime = before?.status === answer.status ? before.lastTransitionTime : toKubeTime(now)
  const after = { ...answer, observedGeneration: generation, lastTransitionTime }
  const others = conditions.filter(({ type }) => type !== answer.type)
  return [...others, after].sort((a, b) => rank(a.type) - rank(b.type))
}

/** Kubernetes time format: UTC, whole seconds. */
export const toKubeTime = (time: Date): string => `${time.toISOString().slice(0, 19)}Z`

function rank(type: ConditionType): number {
  const index = conditionTypes.indexOf(type)
  return index < 0 ? conditionTypes.length : index
}
