import { loadReasons } from '../pool/reasons.ts'
import type { RevisionObservation } from './rollout-input.ts'

/** Its pods fail by themselves, wherever they run. */
export const isOwnFailure = (problem: RevisionObservation['problem']): boolean =>
  problem !== undefined && (problem.reason === 'PodCrashing' || loadReasons.includes(problem.reason))
