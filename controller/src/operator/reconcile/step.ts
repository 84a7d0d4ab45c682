// What one step of a plan is: data, which apply.ts carries out.
import type { Note } from '../kube/events.ts'
import type { Term } from '../kube/lease/fencing-token.ts'
import type { Deployment, Pod, PodDisruptionBudget, Service } from '../kube/objects.ts'
import type { PoolStatus } from '../pool/pool-status.ts'
import type { PoolMemory } from './pool-memory.ts'

export type Step =
  /** Make what is not there. */
  | { readonly kind: 'create'; readonly object: Made }
  /** Lay what we ask for over what is there, which differs from it. */
  | { readonly kind: 'restore'; readonly object: Made; readonly live: Made }
  /** Write (or take away: null) what Kubernetes chooses by among pods, and the stamp of this term. */
  | { readonly kind: 'marks'; readonly marks: readonly PodMark[] }
  | { readonly kind: 'scale'; readonly deployment: Deployment; readonly from: number; readonly to: number }
  | { readonly kind: 'delete'; readonly object: Deployment | Service }
  | { readonly kind: 'status'; readonly status: PoolStatus; readonly notes: readonly Note[] }

export type PodMark = { readonly pod: Pod; readonly annotations: Readonly<Record<string, string | null>> }

export type Made = Deployment | Service | PodDisruptionBudget

export type PlanContext = { readonly memory: PoolMemory; readonly term: Term }
