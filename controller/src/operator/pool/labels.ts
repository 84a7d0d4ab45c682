// Labels and annotations of a pool's objects. Kubernetes copies a Service's labels to its EndpointSlices, where workers
// and operators read pool and revision.

export const fieldManager = 'matte-controller'
export const leaseName = 'matte-controller'

export const poolLabel = 'matte.dev/pool'
export const revisionLabel = 'matte.dev/revision'
/** Fencing token on a pool's objects: term and Lease of the leader (fencing-tokens.ts). */
export const leaderTermAnnotation = 'matte.dev/leader-term'
/** Models of the revision on its Deployment, in case the status is lost (revision-models.ts). */
export const modelsAnnotation = 'matte.dev/models'
/** On pods: the ReplicaSet controller deletes the lowest cost first among otherwise equal pods. */
export const deletionCostAnnotation = 'controller.kubernetes.io/pod-deletion-cost'
/** On a pool: its pods are simulated (KWOK) and never connected to. */
export const simulatedAnnotation = 'matte.dev/simulated'

export const managedSelector = 'app.kubernetes.io/managed-by=matte-controller,matte.dev/pool'

export const poolLabels = (pool: string): Record<string, string> => ({
  'app.kubernetes.io/name': 'triton',
  'app.kubernetes.io/managed-by': fieldManager,
  [poolLabel]: pool,
})

export const revisionLabels = (pool: string, revision: string): Record<string, string> => ({
  ...poolLabels(pool),
  [revisionLabel]: revision,
})

/** A Deployment's selector is immutable, so these selectors must never grow. */
export const poolSelector = (pool: string): Record<string, string> => ({ [poolLabel]: pool })
export const revisionSelector = (pool: string, revision: string): Record<string, string> => ({
  [poolLabel]: pool,
  [revisionLabel]: revision,
})

export const revisionName = (pool: string, revision: string): string => `${pool}-${revision}`
