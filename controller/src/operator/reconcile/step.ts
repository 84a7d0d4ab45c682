// One step of a plan, as data; apply-step.ts carries it out.
import type { Note } from '../kube/events.ts'
import type { Term } from '../kube/fencing-token.ts'
import type { Deployment, Pod, PodDisruptionBudget, Service } from '../kube/objects.ts'
import type { PoolStatus } from '../pool/pool-status.ts'
import type { PoolMemory } from './pool-memory.ts'

export type Step =
  | { readonly kind: 'create'; readonly object: OwnedObject }
  /** Apply `object` over `live`, which differs from it. */
  | { readonly kind: 'restore'; readonly object: OwnedObject; readonly live: OwnedObject }
  /** Write on a Deployment what it was built from, when that is missing or has changed. */
  | { readonly kind: 'record'; readonly object: Deployment; readonly annotations: Readonly<Record<string, string>> }
  /** Write the deletion costs that Kubernetes chooses pods by, and the fencing token of this term. */
  | { readonly kind: 'annotate'; readonly changes: readonly PodAnnotations[] }
  | { readonly kind: 'scale'; readonly deployment: Deployment; readonly from: number; readonly to: number }
  | { readonly kind: 'delete'; readonly object: Deployment | Service }
  | { readonly kind: 'status'; readonly status: PoolStatus; readonly events: readonly Note[] }

/** Null removes an annotation. */
export type PodAnnotations = { readonly pod: Pod; readonly annotations: Readonly<Record<string, string | null>> }

/** Kinds that the operator creates for a pool. */
export type OwnedObject = Deployment | Service | PodDisruptionBudget

export type PlanContext = { readonly memory: PoolMemory; readonly term: Term }
