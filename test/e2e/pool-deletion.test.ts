// Deletes a pool while no controller runs: Kubernetes removes its pods and objects, with their grace period; open tasks
// wait, and the recreated pool runs them.
import { deployments, endpointSlices, podDisruptionBudgets, services } from '@matte/controller/operator/kube/client'
import { tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { expectNothingLost, type Load, startLoad } from './support/load.ts'
import { useOperator } from './support/operator.ts'
import { inSeconds, print } from './support/scenario.ts'

const name = 'deleted'
const waitingMin = 20
/** A pre-stop hook long enough for the test to query a pod during it. */
const drain = { routeStopSeconds: 5, exitTimeoutSeconds: 5, graceSeconds: 16 }
const spec = { replicas: 3, scaling: { owner: 'external' }, drain } as const

describe('a deleted pool', () => {
  const operator = useOperator()
  let receiver: Receiver
  let load: Load
  beforeAll(async () => {
    receiver = await startReceiver()
    await operator.startController()
    await operator.applyPool(name, spec)
    await operator.untilPool(name, 'is at its size', ({ status }) => status?.readyReplicas === 3)
    load = await startLoad({ stack: operator.stack, receiver })
  })
  afterAll(() => receiver.close())

  const open = async (): Promise<number> => {
    const { db } = operator.stack
    return (await db.selectFrom('task').select('id').where('status', 'in', ['queued', 'processing']).execute()).length
  }
  const left = async () => {
    const labelSelector = `matte.dev/pool=${name}`
    const kinds = [deployments, services, endpointSlices, podDisruptionBudgets] as const
    const lists = await Promise.all(
      kinds.map(async (kind) => {
        const { items } = await operator.kube.list(kind as typeof deployments, { labelSelector })
        return items.map(({ metadata }) => `${kind.kind} ${metadata.name}`)
      }),
    )
    return lists.flat()
  }

  it('is removed without a controller: pods drain, objects are collected, tasks wait', async () => {
    const { stack, kube } = operator
    load.rate(10)
    await until('tasks are in flight', () => load.ids.length > 30)
    await Promise.all([stack.process('operator').kill('SIGKILL'), stack.process('worker').kill('SIGKILL')])
    await until('tasks wait', async () => (await open()) >= waitingMin)
    await load.stop()
    const made = await left()
    print(`the controller is gone; ${await open()} tasks wait; there are ${made.join(', ')}`)
    const running = await operator.podsOf(name)
    expect(running).toHaveLength(3)

    const begun = performance.now()
    await kube.delete(tritonPools, name)
    await until('its pods are terminating', async () => {
      const seen = await operator.podsOf(name)
      return seen.length === 3 && seen.every(({ metadata }) => metadata.deletionTimestamp !== undefined)
    })
    const draining = await operator.podsOf(name)
    expect(draining.map(({ spec: { terminationGracePeriodSeconds } }) => terminationGracePeriodSeconds)).toEqual(
      running.map(() => drain.graceSeconds),
    )
    // During the pre-stop hook pods still respond, while the endpoints are terminating.
    const addresses = draining.map(({ status }) => `http://${status?.podIP}:8000/v2/health/ready`)
    expect(await Promise.all(addresses.map(async (address) => (await fetch(address)).status))).toEqual([200, 200, 200])
    await until('its pods are gone', async () => (await operator.podsOf(name)).length === 0)
    const gone = performance.now() - begun
    expect(gone).toBeGreaterThan(drain.routeStopSeconds * 1_000)
    await until('its objects are collected', async () => (await left()).length === 0)
    print(
      `pods drained in ${inSeconds(gone)}, all objects were collected after ${inSeconds(performance.now() - begun)}`,
    )
  })

  it('keeps its open tasks waiting, with a controller as well', async () => {
    const controller = await operator.startController()
    await controller.untilLogged('fencing tokens written')
    const { client } = operator.stack
    const waiting = await open()
    const { status } = await client.getTask(load.ids.at(-1) ?? '')
    expect(['queued', 'processing']).toContain(status)
    expect(waiting).toBeGreaterThanOrEqual(waitingMin)
    print(`a controller is there, and no pool: ${waiting} tasks wait, none has failed`)
  })

  it('runs them when it is created again', async () => {
    const begun = performance.now()
    await operator.applyPool(name, spec)
    const { tasks, repeated } = await expectNothingLost({ stack: operator.stack, receiver, attempts: 'more' }, load)
    print(
      `created again: all done after ${inSeconds(performance.now() - begun)}; ` +
        `${tasks} tasks: 0 lost, 0 twice, 0 failed; ` +
        `${repeated} were in flight in the killed controller`,
    )
  })
})
