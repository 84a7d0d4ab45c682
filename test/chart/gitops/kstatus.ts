// Status of a custom resource by the rules of kstatus (kubernetes-sigs/cli-utils, pkg/kstatus/status), which Flux and
// Helm use: deletion, observed generation, Reconciling and Stalled in list order, then Ready.

export type KubeStatus = 'Terminating' | 'InProgress' | 'Failed' | 'Current'

export type ConditionedObject = {
  readonly metadata: { readonly generation?: number | undefined; readonly deletionTimestamp?: string }
  readonly status?: {
    readonly observedGeneration?: number | undefined
    readonly conditions?: readonly { readonly type: string; readonly status: string }[] | undefined
  }
}

export function computeKstatus({ metadata, status = {} }: ConditionedObject): KubeStatus {
  if (metadata.deletionTimestamp) return 'Terminating'
  const { observedGeneration, conditions = [] } = status
  const isKnown = metadata.generation !== undefined && observedGeneration !== undefined
  if (isKnown && metadata.generation !== observedGeneration) return 'InProgress'
  for (const condition of conditions) {
    if (condition.status !== 'True') continue
    if (condition.type === 'Reconciling') return 'InProgress'
    if (condition.type === 'Stalled') return 'Failed'
  }
  const ready = conditions.find(({ type }) => type === 'Ready')
  // Without a known condition kstatus reports Current.
  return ready === undefined || ready.status === 'True' ? 'Current' : 'InProgress'
}
