// A list of pods whose answers the test sets.
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { InferenceError } from '../triton/inference-error.ts'
import type { ModelShape } from '../triton/model-shape.ts'
import type { TritonClient } from '../triton/triton-client.ts'
import { createPodList } from './pod-list.ts'
import type { MemberSpec } from './pod-member.ts'
import { createPodMetrics } from './pod-metrics.ts'
import type { Outcome } from './pod-probation.ts'
import type { Pod } from './pod-source.ts'

export const shape: ModelShape = { inputSize: 320, slots: 4, views: 1 }
const pauses = { usableMs: 10_000, missingMs: 30_000 }

export const spec = (name: string, changes: Partial<MemberSpec> = {}): MemberSpec => ({
  name,
  address: `${name}:8001`,
  revision: 'a',
  role: 'stable',
  weight: 100,
  models: [{ pool: 'standard', tritonModel: 'u2netp', modelVersions: ['service-v2'] }],
  accepts: true,
  ...changes,
})

export function given(...specs: MemberSpec[]) {
  /** Answer per pod: a shape (now or later), unready, or an error. */
  const shapes = new Map<string, ModelShape | Promise<ModelShape> | undefined | InferenceError>()
  const calls: string[] = []
  const answerFor = async (address: string): Promise<ModelShape | undefined> => {
    const answer = shapes.has(address) ? shapes.get(address) : shape
    if (answer instanceof InferenceError) throw answer
    return answer
  }
  const connect = (address: string): TritonClient => {
    const noted = (what: string) => () => void calls.push(`${address} ${what}`)
    noted('dialled')()
    return {
      readyModel: (model) => {
        noted(`asked for ${model}`)()
        return answerFor(address)
      },
      isReady: async () => {
        noted('asked whether ready')()
        return (await answerFor(address)) === undefined ? 'unready' : 'ready'
      },
      infer: () => Promise.reject(new Error('not asked for')),
      endIdleStreams: noted('ends idle streams'),
      retire: noted('retired'),
      close: noted('closed'),
    }
  }
  const registry = new Registry()
  const metrics = createPodMetrics(registry)
  const list = createPodList({ connect, pauses, logger: pino({ enabled: false }), metrics, random: () => 0.5 })
  list.set(specs)
  list.start()
  const names = (): string[] => list.pods().map(({ name }) => name)
  const podNamed = (name: string): Pod => {
    const pod = list.pods().find((each) => each.name === name)
    if (pod === undefined) throw new Error(`${name} is not in rotation`)
    return pod
  }
  const report = (name: string, ...outcomes: Outcome[]): void => {
    for (const outcome of outcomes) list.report(podNamed(name), outcome)
  }
  const asked = (): number => calls.splice(0).filter((call) => call.includes('asked')).length
  return { list, shapes, calls, names, podNamed, report, asked, registry }
}
