// Moves the leadership fifty times between two controllers under a changing load: by handover, by killing the leader,
// and by stopping it during a write. Late writes of the previous leader must be rejected; pods and Deployments must not
// be affected.
import type { ScalingEntry } from '@matte/controller/operator/pool/pool-status'
import { type PoolSpecInput, type TritonPool, tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ProxiedRequest } from '../support/fault-proxy.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { type Controller, freeLease, killController, startProxied, untilOneLeads } from './support/controllers.ts'
import { expectNothingLost, type Load, startLoad } from './support/load.ts'
import { useOperator } from './support/operator.ts'
import { inSeconds, median, print } from './support/scenario.ts'
import { withEnvironment } from './support/small-pool.ts'

const name = 'moves'
const stabilizationWindowSeconds = 10
const moves = 50
const spec: Partial<PoolSpecInput> = {
  scaling: { minReplicas: 2, maxReplicas: 6, stabilizationWindowSeconds, target: { p95Seconds: 2, utilization: 0.5 } },
  slotsPerPod: 1,
}
/** Tasks per second, in turn. */
const rates = { quiet: 2, busy: 8 }
/** One move in this many is a kill or a stop, which takes a Lease duration; the others are handovers. */
const killEvery = 17
const stopEvery = 12

describe('the leadership', () => {
  const operator = useOperator()
  const controllers: Controller[] = []
  let receiver: Receiver
  let load: Load
  beforeAll(async () => {
    receiver = await startReceiver()
    const made = await operator.applyPool(name, spec)
    // Slow enough that demand changes the number of pods.
    await operator.applyPool(name, { ...spec, podPatch: withEnvironment(made, { FAKE_SERVICE_MS: '300' }) })
    controllers.push(await startProxied(operator), await startProxied(operator))
    await operator.untilPool(name, 'is at its size', ({ status }) => (status?.readyReplicas ?? 0) >= 2)
    load = await startLoad({ stack: operator.stack, receiver })
  })
  afterAll(async () => {
    await receiver.close()
    for (const { proxy } of controllers) await proxy.close()
  })

  it(`moves ${moves} times without an effect on tasks`, { timeout: 1_200_000 }, async () => {
    const [made] = await operator.deploymentsOf(name)
    const watched = watchPool()
    const count = { handed: 0, killed: 0, stopped: 0 }
    const refused: string[] = []
    const times: number[] = []
    let leader = await untilOneLeads(operator.kube, controllers)
    for (let move = 1; move <= moves; move++) {
      // Busy and quiet periods in turn; in a quiet one pods are removed if a leader stays long enough.
      if (move % 25 === 1) load.rate(rates.busy)
      if (move % 25 === 15) load.rate(rates.quiet)
      const begun = performance.now()
      if (move % killEvery === 0) {
        leader = await afterKill(leader)
        count.killed++
      } else if (move % stopEvery === 0) {
        const stopped = await afterStop(leader)
        leader = stopped.next
        refused.push(...stopped.refused)
        count.stopped++
      } else {
        leader = await afterHandOver(leader)
        count.handed++
      }
      times.push(performance.now() - begun)
      if (move % 10 === 0)
        print(`${move} moves, ${load.ids.length} tasks accepted, last move took ${inSeconds(times.at(-1) ?? 0)}`)
      if (move % 25 === 0)
        await operator.untilPool(name, 'is small again', ({ status }) => status?.desiredReplicas === 2)
    }
    await load.stop()
    const history = await watched.end()
    print(
      `${moves} moves: ${count.handed} handed over, ${count.killed} leaders killed, ` +
        `${count.stopped} stopped during a write; ` +
        `a move took ${inSeconds(median(times))} (median), ${inSeconds(Math.max(...times))} at most`,
    )
    expect(refused).toHaveLength(count.stopped)
    expect(refused.filter((line) => !line.endsWith(' 409'))).toEqual([])
    print(`what former leaders still sent: ${refused.join('; ')}`)

    const after = await operator.deploymentsOf(name)
    expect(after.map(({ metadata }) => metadata.uid)).toEqual([made?.metadata.uid])
    expectNoFlapping(history)
    const { tasks, repeated } = await expectNothingLost({ stack: operator.stack, receiver, attempts: 'more' }, load)
    print(`one Deployment throughout; ${history.length} changes of its pods, each with its reason:`)
    for (const { time, from, to, rule, sentence } of history) print(`  ${time} ${from} → ${to} ${rule}: ${sentence}`)
    print(`${tasks} tasks: 0 lost, 0 twice, 0 failed; ${repeated} took more than one attempt`)
  })

  const otherOf = (leader: Controller): Controller => {
    const other = controllers.find((one) => one !== leader)
    if (other === undefined) throw new Error('there is one controller only')
    return other
  }

  /** Retries if the previous leader acquires the Lease again. */
  async function afterHandOver(leader: Controller): Promise<Controller> {
    const other = otherOf(leader)
    for (;;) {
      await freeLease(operator.kube)
      const next = await untilOneLeads(operator.kube, controllers)
      if (next === other) return other
    }
  }

  async function afterKill(leader: Controller): Promise<Controller> {
    await killController(leader)
    controllers.splice(controllers.indexOf(leader), 1, await startProxied(operator))
    return untilOneLeads(operator.kube, controllers)
  }

  /** Stops the leader during a write, which arrives after another has taken over. */
  async function afterStop(leader: Controller): Promise<{ next: Controller; refused: string[] }> {
    const other = otherOf(leader)
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const late: ProxiedRequest[] = []
    leader.proxy.onRequest(async (request) => {
      if (late.length > 0 || !isGuarded(request)) return undefined
      late.push(request)
      await leader.process.kill('SIGSTOP')
      await released
      return undefined
    })
    const [write] = await until('the leader writes', () => late.length > 0 && late)
    const before = other.process.log().filter(({ msg }) => msg === 'fencing tokens written').length
    await until('the other has written its fencing tokens', () => {
      return other.process.log().filter(({ msg }) => msg === 'fencing tokens written').length > before
    })
    release()
    const status = await until('the late write is answered', () => write?.status)
    leader.proxy.onRequest(() => undefined)
    await leader.process.kill('SIGCONT')
    const kind = write?.url.pathname.split('/').slice(-3).join('/')
    return { next: other, refused: [`${write?.method} …/${kind} ${status}`] }
  }

  /** Collects the scaling history, including entries that have since been dropped. */
  function watchPool() {
    const seen = new Map<string, ScalingEntry>()
    const ended = new AbortController()
    const note = ({ status }: TritonPool): void => {
      for (const entry of status?.scalingHistory ?? []) seen.set(`${entry.time} ${entry.from} ${entry.to}`, entry)
    }
    const work = until(
      'the scenario is over',
      async () => {
        for (const pool of (await operator.kube.list(tritonPools)).items) note(pool)
        return ended.signal.aborted
      },
      { everyMs: 500, timeoutMs: 1_200_000 },
    )
    return {
      end: async (): Promise<ScalingEntry[]> => {
        ended.abort()
        await work
        return [...seen.values()]
      },
    }
  }
})

/** Writes made by leaders only. */
const isGuarded = ({ method, url }: ProxiedRequest): boolean =>
  method === 'PATCH' && /\/(deployments|tritonpools)\//.test(url.pathname)

/** Each change starts at the previous size, and removals respect the window after an addition. */

function expectNoFlapping(history: readonly ScalingEntry[]): void {
  let raisedAt = Number.NEGATIVE_INFINITY
  for (const [index, { time, from, to, sentence }] of history.entries()) {
    if (index > 0) expect(from).toBe(history[index - 1]?.to)
    expect(sentence).not.toBe('')
    if (to > from) raisedAt = Date.parse(time)
    // Times are whole seconds.
    else expect(Date.parse(time) - raisedAt).toBeGreaterThanOrEqual((stabilizationWindowSeconds - 1) * 1_000)
  }
}
