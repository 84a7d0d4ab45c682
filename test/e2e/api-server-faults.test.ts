// Faults between controller and API server: cut connections, expired history, an outage, and silence. Requests must be
// served meanwhile, because routing needs no API server. Afterwards a change of the pool must be applied, and the fault
// counted and logged.
import { pods } from '@matte/controller/operator/kube/client'
import { tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { type Controller, isLeading, startProxied } from './support/controllers.ts'
import { expectNothingLost, type Load, startLoad } from './support/load.ts'
import { readMetrics } from './support/metrics.ts'
import { isReady, useOperator } from './support/operator.ts'
import { inSeconds, print } from './support/scenario.ts'

const name = 'faults'
/** Tasks processed that were created during a fault. */
const cutOutsMin = 10

describe('while the API server', () => {
  const operator = useOperator()
  let receiver: Receiver
  let controller: Controller
  let load: Load
  beforeAll(async () => {
    receiver = await startReceiver()
    controller = await startProxied(operator)
    await operator.applyPool(name, { replicas: 3, scaling: { owner: 'external' } })
    await operator.untilPool(name, 'is at its size', ({ status }) => status?.readyReplicas === 3)
    load = await startLoad({ stack: operator.stack, receiver })
    load.rate(5)
  })
  afterAll(async () => {
    await receiver.close()
    await controller.proxy.close()
  })

  /** Returns when this many tasks created since have succeeded; the caller prints the duration. */
  async function untilCutOut(count = cutOutsMin): Promise<void> {
    const from = load.ids.length
    const since = await until('tasks are accepted', () => load.ids.length >= from + count && load.ids.slice(from))
    await until('these tasks are cut out', async () => {
      const { rows } = { rows: await statuses(since.slice(0, count)) }
      return rows.every(({ status }) => status === 'succeeded')
    })
  }
  const statuses = (ids: readonly string[]) =>
    operator.stack.db.selectFrom('task').select(['id', 'status']).where('id', 'in', ids).execute()

  async function expectConvergence(replicas: number): Promise<string> {
    const begun = performance.now()
    await operator.kube.mergePatch(tritonPools, name, { spec: { replicas } })
    await operator.untilPool(name, `has ${replicas} ready pods`, ({ metadata, status }) => {
      return status?.readyReplicas === replicas && status.observedGeneration === metadata.generation
    })
    return `a change of the pool was carried out after ${inSeconds(performance.now() - begun)}`
  }

  const restarts = async (reason: string): Promise<number> =>
    (await readMetrics(controller.process)).sum('matte_kube_watch_restarts_total', { reason })

  it('has its connections cut, ten times', async () => {
    const { proxy } = controller
    for (let round = 1; round <= 10; round++) {
      proxy.cut()
      await untilCutOut()
    }
    const count = await until('the cuts are counted', () => restarts('cut'))
    print(`10 cuts: ${count} watches restarted; ${await expectConvergence(2)}`)
  })

  it('has lost its watch history', async () => {
    const { proxy } = controller
    const expired = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Expired', code: 410 }
    const refused = new Set<string>()
    proxy.onRequest(({ isWatch, url }) => {
      if (!isWatch || refused.has(url.pathname)) return undefined
      refused.add(url.pathname)
      return { status: 410, body: JSON.stringify(expired) }
    })
    proxy.cut()
    await until('each watch was refused once', () => refused.size >= 6)
    let sent = 0
    proxy.onWatchLine((line) => (sent++ < 3 ? JSON.stringify({ type: 'ERROR', object: expired }) : line))
    const convergence = await expectConvergence(3)
    await untilCutOut()
    expect(sent).toBeGreaterThanOrEqual(3)
    const count = await restarts('gone')
    expect(count).toBeGreaterThanOrEqual(refused.size)
    print(
      `history expired: ${count} watches listed again (${refused.size} at their start, the others later); ` +
        convergence,
    )
  })

  it('is down for longer than a Lease, and a pod is deleted meanwhile', async () => {
    const { proxy, process } = controller
    await proxy.goAway()
    const begun = performance.now()
    const victim = (await operator.podsOf(name)).find(isReady)
    await operator.kube.delete(pods, victim?.metadata.name ?? '', { gracePeriodSeconds: 0 })
    await until('the controller leads no more', async () => !(await isLeading(controller)))
    await untilCutOut()
    const away = performance.now() - begun
    await proxy.comeBack()
    await until('it leads again', () => isLeading(controller))
    expect(process.log().some(({ msg }) => msg === 'Lease not written')).toBe(true)
    print(`away for ${inSeconds(away)}, a pod gone: requests were served; ${await expectConvergence(2)}`)
  })

  it('is silent', async () => {
    const { proxy } = controller
    proxy.silence()
    const begun = performance.now()
    await until('the controller leads no more', async () => !(await isLeading(controller)))
    await untilCutOut()
    proxy.speak()
    const convergence = await expectConvergence(3)
    const count = await restarts('idle')
    expect(count).toBeGreaterThan(0)
    print(
      `silent for ${inSeconds(performance.now() - begun)} in all: ${count} watches were given up as idle; ` +
        convergence,
    )
  })

  it('nothing was lost', async () => {
    await load.stop()
    const { tasks } = await expectNothingLost({ stack: operator.stack, receiver }, load)
    const metrics = await readMetrics(controller.process)
    const drift = metrics.sum('matte_kube_drift_total')
    print(`${tasks} tasks: 0 lost, 0 twice, 0 failed, 0 attempts spent; drift ${drift}`)
    expect(drift).toBe(0)
  })
})
