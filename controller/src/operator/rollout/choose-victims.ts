// Choice of pods to remove. Kubernetes would take any ready pod, but lowest deletion cost first, so victims are
// annotated before the number is lowered.

export type PodChoice = {
  readonly name: string
  readonly ready: boolean
  readonly slotsUsed: number
  readonly createdAt: Date
  readonly node: string | undefined
  readonly cost: string | undefined
}

/** Cost of a victim; other pods have none, which counts as 0. */
export const victimCost = '-1'

type Mark = { readonly pod: string; readonly cost: typeof victimCost | null }

/** Removes unready pods first, then the least loaded, then those on the fullest nodes, then the newest. */
export function chooseVictims(pods: readonly PodChoice[], count: number): Mark[] {
  if (count <= 0 || count >= pods.length) return []
  const victims = new Set(rank(pods).slice(0, count))
  return pods.flatMap((pod): Mark[] => {
    const { name, cost } = pod
    if (victims.has(pod)) return cost === victimCost ? [] : [{ pod: name, cost: victimCost }]
    return cost === undefined ? [] : [{ pod: name, cost: null }]
  })
}

/** In order of removal. Each choice affects the next: of two pods on one node one is enough. */
function rank(pods: readonly PodChoice[]): PodChoice[] {
  const onNode = new Map<string, number>()
  for (const { node } of pods) if (node !== undefined) onNode.set(node, (onNode.get(node) ?? 0) + 1)
  const groups = Map.groupBy(pods, (pod) => (pod.ready ? pod.slotsUsed : -1))
  const order = [...groups.keys()].sort((a, b) => a - b)
  return order.flatMap((load) => spread(groups.get(load) ?? [], onNode))
}

/** Takes from the fullest node each time; `onNode` counts down. */
function spread(group: readonly PodChoice[], onNode: Map<string, number>): PodChoice[] {
  const left = [...group].sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.name < b.name ? -1 : 1))
  const chosen: PodChoice[] = []
  const crowd = ({ node }: PodChoice): number =>
    node === undefined ? Number.POSITIVE_INFINITY : (onNode.get(node) ?? 0)
  while (left.length > 0) {
    const next = left.reduce((best, pod) => (crowd(pod) > crowd(best) ? pod : best))
    left.splice(left.indexOf(next), 1)
    if (next.node !== undefined) onNode.set(next.node, crowd(next) - 1)
    chosen.push(next)
  }
  return chosen
}
