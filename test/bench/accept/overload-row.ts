import { median } from '../median.ts'
import type { Row } from '../row.ts'
import { createRequests } from './create-rows.ts'
import { generateLoad, type Measured, rateOf } from './load.ts'
import { type AcceptOptions, connections, warmupSeconds } from './options.ts'
import type { World } from './world.ts'

/** Constant arrival at capacity and at twice that, alternating. */
export async function overloadRow(
  world: World,
  { rounds, seconds, say }: AcceptOptions,
  perSecond: number,
): Promise<Row> {
  const requests = createRequests(world.callers)
  const at = async (share: number): Promise<Measured> =>
    generateLoad(world.dir, {
      port: world.port,
      requests,
      connections: 2_000,
      seconds,
      warmupSeconds: 2,
      rate: Math.round(perSecond * share),
    })
  const peak: number[] = []
  const good: number[] = []
  const refused: number[] = []
  const p99s: number[] = []
  const retryAfters = new Set<string>()
  const memoryBefore = world.api.peakMemoryBytes()
  for (let round = 0; round < rounds; round++) {
    const load = { port: world.port, requests, connections, seconds, warmupSeconds }
    peak.push(rateOf(await generateLoad(world.dir, load), 201).perSecond)
    const twice = await at(2)
    const others = Object.keys(twice.answers).filter((status) => status !== '201' && status !== '429')
    if (others.length > 0) throw new Error(`overload was answered ${JSON.stringify(twice.answers)}`)
    good.push(twice.answers['201']?.perSecond ?? 0)
    refused.push(twice.answers['429']?.perSecond ?? 0)
    p99s.push(twice.answers['201']?.p99Ms ?? 0)
    for (const value of twice.retryAfters) retryAfters.add(value)
    say(
      `overload, round ${round + 1} of ${rounds}, a second: peak ${peak.at(-1)?.toFixed(0)}, ` +
        `at twice of it ${good.at(-1)?.toFixed(0)} accepted, ${refused.at(-1)?.toFixed(0)} refused, ` +
        `missed ${twice.missed}`,
    )
  }
  const mb = (bytes: number): string => (bytes / 1_048_576).toFixed(0)
  const detail =
    `${median(good).toFixed(0)}/s accepted (p99 ${median(p99s).toFixed(0)} ms), ` +
    `${median(refused).toFixed(0)}/s refused, ` +
    `Retry-After ${[...retryAfters].join(' ')}; peak ${median(peak).toFixed(0)}/s; ` +
    `most memory before ${mb(memoryBefore)}, after ${mb(world.api.peakMemoryBytes())} MB`
  const ratio = median(good) / median(peak)
  return { name: 'accepted at twice the capacity ÷ peak', ratio, target: { atLeast: 0.95 }, detail }
}
