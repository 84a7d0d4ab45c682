// Drains a node: evicts all pods of a pool at once through the Eviction API, like `kubectl drain`, and retries rejected
// evictions. The pool's budget allows a few at a time, and no task may be affected.
import { createTransport } from '@matte/controller/operator/kube/http/transport'
import type { Pod } from '@matte/controller/operator/kube/objects'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { fakeImage, tritonImage } from './support/images.ts'
import { expectNothingLost, startLoad } from './support/load.ts'
import { isReady, useOperator } from './support/operator.ts'
import { inSeconds, print } from './support/scenario.ts'

/** A tenth of the pool at a time, rounded up: two of twelve, one of three. */
const cases = [
  { name: 'fakes', image: fakeImage, replicas: 12, allowed: 2, rate: 10, cpu: '20m' },
  { name: 'triton', image: tritonImage, replicas: 3, allowed: 1, rate: 1, cpu: '100m' },
]

describe('a node is drained', () => {
  for (const { name, image, replicas, allowed, rate, cpu } of cases) {
    describe(`of ${name}`, () => {
      const operator = useOperator()
      let receiver: Receiver
      let transport: ReturnType<typeof createTransport>
      beforeAll(async () => {
        receiver = await startReceiver()
        transport = createTransport(operator.cluster.loaded.config)
        await operator.startController()
        await operator.applyPool(name, {
          image,
          replicas,
          scaling: { owner: 'external' },
          resources: { requests: { cpu, memory: '64Mi' } },
        })
        await operator.untilPool(name, 'is at its size', ({ status }) => status?.readyReplicas === replicas)
      })
      afterAll(async () => {
        transport?.close()
        await receiver.close()
      })

      /** 201: evicted; 429: the budget does not allow it yet; 404: already gone. */
      async function evict({ metadata }: Pod): Promise<number> {
        const path = `/api/v1/namespaces/${operator.namespace}/pods/${metadata.name}/eviction`
        const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: metadata.name } }
        const answer = await transport.send({
          method: 'POST',
          path,
          body,
          contentType: 'application/json',
          timeoutMs: 10_000,
        })
        return answer.status
      }

      it(`takes all ${replicas} pods, ${allowed} at a time, and loses nothing`, async () => {
        const { stack } = operator
        const load = await startLoad({ stack, receiver })
        load.rate(rate)
        await until('tasks are accepted', () => load.ids.length > rate)
        const begun = performance.now()
        const first = await operator.podsOf(name)
        const count = { granted: 0, refused: 0 }
        let fewest = replicas
        await until(
          'every pod has gone',
          async () => {
            const there = await operator.podsOf(name)
            fewest = Math.min(fewest, there.filter(isReady).length)
            const left = first.filter(({ metadata }) => there.some((pod) => pod.metadata.uid === metadata.uid))
            const staying = left.filter(({ metadata: { uid } }) =>
              there.some((pod) => pod.metadata.uid === uid && pod.metadata.deletionTimestamp === undefined),
            )
            for (const status of await Promise.all(staying.map(evict))) {
              if (status === 201) count.granted++
              else if (status === 429) count.refused++
              else expect(status).toBe(404)
            }
            return left.length === 0
          },
          { everyMs: 200, timeoutMs: 600_000 },
        )
        const took = performance.now() - begun
        await load.stop()
        expect(count.granted).toBe(replicas)
        expect(count.refused).toBeGreaterThan(0)
        expect(fewest).toBeGreaterThanOrEqual(replicas - allowed)
        const { status } = await operator.untilPool(name, 'is whole', (pool) => pool.status?.readyReplicas === replicas)
        expect(status?.desiredReplicas).toBe(replicas)
        const { tasks } = await expectNothingLost({ stack, receiver }, load)
        print(
          `${name}: ${count.granted} pods evicted in ${inSeconds(took)}, ${count.refused} evictions refused by the ` +
            `budget, never fewer than ${fewest} of ${replicas} ready; ` +
            `${tasks} tasks: 0 lost, 0 twice, 0 failed, 0 attempts spent`,
        )
      })
    })
  }
})
