// Names that other parts of Kubernetes, and our own routing, find a pool's objects by. They are an interface: a label
// of a Service is copied onto its EndpointSlices, which is how every replica of the controller knows pool and revision.

export const poolLabel = 'matte.dev/pool'
export const revisionLabel = 'matte.dev/revision'
/** On what is made for a pool: the term of the leader that saw it first, and its Lease (see leader-fence.ts). */
export const leaderTermAnnotation = 'matte.dev/leader-term'
/** On Deployments: the models of the revision, for a status that was lost (see pool/revision-models.ts). */
export const modelsAnnotation = 'matte.dev/models'
/** On pods: read by the ReplicaSet controller, which deletes the lowest first among equals. */
export const deletionCostAnnotation = 'controller.kubernetes.io/pod-deletion-cost'
/** On a pool: its pods do not exist (KWOK), and nobody connects to them. */
export const simulatedAnnotation = 'matte.dev/simulated'

const common = { 'app.kubernetes.io/name': 'triton', 'app.kubernetes.io/managed-by': 'matte-controller' } as const

/** Selects what this controller made, of all pools. */
export const managedSelector = 'app.kubernetes.io/managed-by=matte-controller,matte.dev/pool'

export const poolLabels = (pool: string): Record<string, string> => ({ ...common, [poolLabel]: pool })

export const revisionLabels = (pool: string, revision: string): Record<string, string> => ({
  ...poolLabels(pool),
  [revisionLabel]: revision,
})

/** What selects a pool's pods: never more than these two, since a Deployment's selector cannot be changed later. */
export const poolSelector = (pool: string): Record<string, string> => ({ [poolLabel]: pool })
export const revisionSelector = (pool: string, revision: string): Record<string, string> => ({
  [poolLabel]: pool,
  [revisionLabel]: revision,
})

/** The selector as text, for the scale subresource. */
export const poolSelectorText = (pool: string): string => `${poolLabel}=${pool}`

/** Name of a revision's Deployment and Service. */
export const revisionName = (pool: string, revision: string): string => `${pool}-${revision}`
