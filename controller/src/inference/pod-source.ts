// Where pods come from. Here a static list, probed every second; a source that watches Kubernetes has the same
// shape. A pod is used only between a probe that found its model ready and the first fault seen on it.
import { type Loop, loop } from '@matte/core/runtime/loop'
import type { Logger } from 'pino'
import type { StaticModel } from '../config.ts'
import { connectTriton, type ModelShape, type TritonClient } from './triton-client.ts'
import type { TritonStubClass } from './triton-protocol.ts'

export type Pod = {
  readonly address: string
  readonly tritonModel: string
  /** Public model versions that this pod answers for. */
  readonly modelVersions: readonly string[]
  readonly client: TritonClient
  readonly shape: ModelShape
}

export type PodSource = Loop & {
  /** The pods that are ready now. */
  pods(): readonly Pod[]
  /** Takes a pod out until its next good probe. */
  eject(pod: Pod): void
  /** Called whenever the list of ready pods has changed. */
  onChange(listener: () => void): void
}

const probeEveryMs = 1_000

export type StaticPodsOptions = {
  readonly models: readonly StaticModel[]
  readonly Stub: TritonStubClass
  readonly logger: Logger
}

export function staticPods({ models, Stub, logger }: StaticPodsOptions): PodSource {
  const members = models.flatMap((model) =>
    model.addresses.map((address) => ({
      address,
      tritonModel: model.tritonModel,
      modelVersions: versionsOf(model, models),
      client: connectTriton(Stub, address),
      ready: undefined as Pod | undefined,
    })),
  )
  const listeners: (() => void)[] = []
  const changed = (): void => {
    for (const listener of listeners) listener()
  }

  async function probe(member: (typeof members)[number]): Promise<boolean> {
    const { address, tritonModel, modelVersions, client } = member
    const before = member.ready
    let shape: ModelShape | undefined
    try {
      shape = await client.readyModel(tritonModel)
    } catch (error) {
      if (before) logger.warn({ pod: address, err: error }, 'pod not usable')
    }
    if (shape && member.ready) return false
    member.ready = shape && { address, tritonModel, modelVersions, client, shape }
    if (Boolean(before) === Boolean(member.ready)) return false
    logger.info({ pod: address, model: tritonModel, ready: Boolean(shape), slots: shape?.slots ?? 0 }, 'pod changed')
    return true
  }

  const probing = loop({
    name: 'pod-probe',
    everyMs: probeEveryMs,
    logger,
    run: async () => {
      const changes = await Promise.all(members.map(probe))
      if (changes.some(Boolean)) changed()
      return {}
    },
  })

  return {
    ...probing,
    stop: async () => {
      await probing.stop()
      for (const { client } of members) client.close()
    },
    pods: () => members.flatMap((member) => member.ready ?? []),
    eject: (pod) => {
      const member = members.find((candidate) => candidate.ready === pod)
      if (member === undefined) return
      member.ready = undefined
      logger.warn({ pod: pod.address }, 'pod taken out until its next good probe')
      changed()
    },
    onChange: (listener) => {
      listeners.push(listener)
    },
  }
}

/** The default model answers for `service-v2` too, unless a model has that very name (D38). */
function versionsOf(model: StaticModel, all: readonly StaticModel[]): readonly string[] {
  const standsIn = model.default && !all.some(({ name }) => name === 'service-v2')
  return standsIn ? [model.name, 'service-v2'] : [model.name]
}
