// Kills and restarts an API server while a pool scales under load. The server belongs to the scenario and shares the
// cluster's etcd; only the controller uses it, so Kubernetes' own components are not disturbed.
import { loadKubeConfig } from '@matte/controller/operator/kube/cluster-access'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { TestProcess } from '../support/processes.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { reportSkip } from '../support/report/skips.ts'
import { until } from '../support/until.ts'
import { isLeading } from './support/controllers.ts'
import { countSucceeded, expectNothingLost, type Load, startLoad } from './support/load.ts'
import { readMetrics } from './support/metrics.ts'
import { reasonOf, useOperator } from './support/operator.ts'
import { inSeconds, print } from './support/scenario.ts'
import { findApiServer, type OwnApiServer, startOwnApiServer } from './support/second-api-server.ts'
import { withEnvironment } from './support/small-pool.ts'

const name = 'restarts'
/** Tasks per second. */
const rates = { quiet: 1, busy: 8 }
const cutOutsMin = 10

const loaded = await loadKubeConfig()
const found = loaded === undefined ? 'there is no kube context' : findApiServer(loaded)
if (typeof found === 'string') reportSkip({ matching: 'test/e2e/api-server-restart.test.ts', reason: found })

describe.skipIf(typeof found === 'string')('the API server is killed', () => {
  const operator = useOperator()
  let receiver: Receiver
  let apiServer: OwnApiServer
  let controller: TestProcess
  let load: Load
  beforeAll(async () => {
    if (typeof found === 'string') return
    receiver = await startReceiver()
    apiServer = await startOwnApiServer(operator.cluster.loaded, found, inject('runDir'))
    const spec = {
      slotsPerPod: 1,
      scaling: {
        minReplicas: 1,
        maxReplicas: 6,
        stabilizationWindowSeconds: 5,
        target: { p95Seconds: 2, utilization: 0.5 },
      },
    }
    const made = await operator.applyPool(name, spec)
    await operator.applyPool(name, { ...spec, podPatch: withEnvironment(made, { FAKE_SERVICE_MS: '300' }) })
    controller = await operator.startController({ KUBECONFIG: apiServer.kubeconfig })
    await operator.untilPool(name, 'serves', ({ status }) => (status?.readyReplicas ?? 0) >= 1)
    load = await startLoad({ stack: operator.stack, receiver })
    load.rate(rates.quiet)
  })
  afterAll(async () => {
    await receiver?.close()
    await apiServer?.stop()
  })

  const failedRenewals = (): number => controller.log().filter(({ msg }) => msg === 'Lease not written').length
  const begun = async (): Promise<number> => (await readMetrics(controller)).sum('matte_kube_watch_restarts_total')

  /** Returns when this many more tasks have succeeded. */
  async function untilCutOut(): Promise<void> {
    const before = await countSucceeded(operator.stack.db)
    await until('tasks succeed', async () => (await countSucceeded(operator.stack.db)) >= before + cutOutsMin)
  }

  const untilSmall = () =>
    operator.untilPool(name, 'is small again', ({ status }) => status?.desiredReplicas === 1 && status.replicas === 1)

  /** Seconds until more pods are ready and no condition reports a problem. */
  async function untilGrown(): Promise<string> {
    const from = performance.now()
    const { status } = await operator.untilPool(name, 'has grown, and reports no problem', (pool) => {
      const { desiredReplicas = 0, readyReplicas = 0 } = pool.status ?? {}
      return (
        desiredReplicas > 1 &&
        readyReplicas === desiredReplicas &&
        reasonOf(pool, 'Ready') === 'Available' &&
        reasonOf(pool, 'Degraded', 'False') === 'NothingWrong'
      )
    })
    expect(status?.scalingHistory?.at(-1)?.outcome).toBe('Reached')
    return `grown to ${status?.readyReplicas} ready pods ${inSeconds(performance.now() - from)} after it was ready`
  }

  it('and restarts immediately, three times, while the pool scales up', async () => {
    for (let round = 1; round <= 3; round++) {
      await untilSmall()
      const watches = await begun()
      load.rate(rates.busy)
      await apiServer.kill()
      const killed = performance.now()
      await Promise.all([untilCutOut(), apiServer.start()])
      const away = performance.now() - killed
      const growth = await untilGrown()
      const restarted = (await begun()) - watches
      expect(restarted).toBeGreaterThan(0)
      print(`restart ${round}: away for ${inSeconds(away)}, ${restarted} watches restarted; ${growth}`)
      load.rate(rates.quiet)
    }
  })

  it('and stays down for longer than a Lease', async () => {
    await untilSmall()
    const failures = failedRenewals()
    await apiServer.kill()
    const killed = performance.now()
    await until('the controller leads no more', async () => !(await isLeading({ process: controller })))
    expect(failedRenewals()).toBeGreaterThan(failures)
    load.rate(rates.busy)
    await untilCutOut()
    await apiServer.start()
    const away = performance.now() - killed
    await until('it leads again', () => isLeading({ process: controller }))
    const growth = await untilGrown()
    print(`away for ${inSeconds(away)}: it gave up the leadership and logged it, and requests were served; ${growth}`)
    load.rate(rates.quiet)
    await untilSmall()
  })

  it('nothing was lost', async () => {
    await load.stop()
    const { tasks } = await expectNothingLost({ stack: operator.stack, receiver }, load)
    const metrics = await readMetrics(controller)
    const drift = metrics.sum('matte_kube_drift_total')
    const failed = metrics.sum('matte_reconcile_total', { queue: 'pools', outcome: 'failed' })
    print(`${tasks} tasks: 0 lost, 0 twice, 0 failed, 0 attempts spent; drift ${drift}; failed reconciles: ${failed}`)
    expect(drift).toBe(0)
  })
})
