// Labels and annotations of a pool's objects. They are an interface: Kubernetes copies a Service's labels to its
// EndpointSlices, which tell workers and operators pool and revision.

/** Also the component that reports our Events. */
export const fieldManager = 'matte-controller'
export const leaseName = 'matte-controller'

export const poolLabel = 'matte.dev/pool'
export const revisionLabel = 'matte.dev/revision'
/** On a pool's objects: the fencing token, which is the leader's term and Lease (fencing-tokens.ts). */
export const leaderTermAnnotation = 'matte.dev/leader-term'
/** On Deployments: the models of the revision, for a status that was lost (see revision-models.ts). */
export const modelsAnnotation = 'matte.dev/models'
/** On pods: the ReplicaSet controller deletes the lowest first among otherwise equal pods. */
export const deletionCostAnnotation = 'controller.kubernetes.io/pod-deletion-cost'
/** On a pool: its pods are simulated (KWOK), and nothing connects to them. */
export const simulatedAnnotation = 'matte.dev/simulated'

/** Selects the objects of all pools. */
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

/** Never more labels than in these two selectors: a Deployment's selector is immutable. */
export const poolSelector = (pool: string): Record<string, string> => ({ [poolLabel]: pool })
export const revisionSelector = (pool: string, revision: string): Record<string, string> => ({
  [poolLabel]: pool,
  [revisionLabel]: revision,
})

/** Name of a revision's Deployment and Service. */
export const revisionName = (pool: string, revision: string): string => `${pool}-${revision}`
