// Requests in flight per pod. Counts change in place, twice per request.
import type { Pod } from './pod-source.ts'

type AddressLoad = { total: number; readonly byModel: Map<string, number>; pickedAt: number }
export type RevisionSlots = { readonly pool: string; readonly revision: string; slots: number }

export type PodLoad = {
  readonly byAddress: Map<string, AddressLoad>
  readonly byRevision: Map<string, RevisionSlots>
  readonly firstIndex: number
  /** Orders pods by their last request. */
  picks: number
}

export function noLoad(firstIndex: number): PodLoad {
  return { byAddress: new Map(), byRevision: new Map(), firstIndex, picks: 0 }
}

/** The pod with the smallest share of its slots in use; undefined when no slot is free. */
export function findLeastLoaded({ byAddress, firstIndex }: PodLoad, pods: readonly Pod[]): Pod | undefined {
  let best: Pod | undefined
  let bestLoad: AddressLoad | undefined
  let bestShare = 1
  for (let index = 0; index < pods.length; index++) {
    const pod = pods[(firstIndex + index) % pods.length]
    if (pod === undefined) continue
    const load = byAddress.get(pod.address)
    const share = (load?.total ?? 0) / pod.podSlots
    if (share > bestShare || share >= 1) continue
    if ((load?.byModel.get(pod.tritonModel) ?? 0) >= pod.shape.slots) continue
    // Ties go to the pod used longest ago, so the first in the list gets no more than others.
    if (share === bestShare && best && (load?.pickedAt ?? 0) >= (bestLoad?.pickedAt ?? 0)) continue
    best = pod
    bestLoad = load
    bestShare = share
  }
  return best
}

export function addRequest(load: PodLoad, { address, tritonModel, pool, revision }: Pod): void {
  const own = load.byAddress.get(address) ?? { total: 0, byModel: new Map<string, number>(), pickedAt: 0 }
  own.total++
  own.byModel.set(tritonModel, (own.byModel.get(tritonModel) ?? 0) + 1)
  own.pickedAt = ++load.picks
  load.byAddress.set(address, own)
  const key = `${pool} ${revision}`
  const ofRevision = load.byRevision.get(key) ?? { pool, revision, slots: 0 }
  ofRevision.slots++
  load.byRevision.set(key, ofRevision)
}

export function removeRequest({ byAddress, byRevision }: PodLoad, { address, tritonModel, pool, revision }: Pod): void {
  const own = byAddress.get(address)
  if (own) {
    own.total--
    own.byModel.set(tritonModel, (own.byModel.get(tritonModel) ?? 1) - 1)
  }
  const key = `${pool} ${revision}`
  const ofRevision = byRevision.get(key)
  if (ofRevision && --ofRevision.slots === 0) byRevision.delete(key)
}

export function forgetIdle({ byAddress }: PodLoad): void {
  for (const [address, { total }] of byAddress) if (total === 0) byAddress.delete(address)
}
