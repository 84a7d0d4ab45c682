// One step of a plan, as data; apply-step.ts executes it.
import type { Note } from '../kube/events.ts'
import type { Term } from '../kube/leadership.ts'
import type { Deployment, Pod, PodDisruptionBudget, Service } from '../kube/objects.ts'
import type { PoolStatus } from '../pool/pool-status.ts'
import type { PoolMemory } from './pool-memory.ts'

export type Step =
  | { readonly kind: 'create'; readonly object: OwnedObject }
  /** Applies `object` over the different `live`. */
  | { readonly kind: 'restore'; readonly object: OwnedObject; readonly live: OwnedObject }
  /** Writes a Deployment's missing or changed build record. */
  | { readonly kind: 'record'; readonly object: Deployment; readonly annotations: Readonly<Record<string, string>> }
  /** Writes deletion costs and the fencing token of this term. */
  | { readonly kind: 'annotate'; readonly changes: readonly PodAnnotations[] }
  | { readonly kind: 'scale'; readonly deployment: Deployment; readonly from: number; readonly to: number }
  | { readonly kind: 'delete'; readonly object: Deployment | Service }
  | { readonly kind: 'status'; readonly status: PoolStatus; readonly events: readonly Note[] }

/** Null removes an annotation. */
export type PodAnnotations = { readonly pod: Pod; readonly annotations: Readonly<Record<string, string | null>> }

export type OwnedObject = Deployment | Service | PodDisruptionBudget

export type PlanContext = { readonly memory: PoolMemory; readonly term: Term }
