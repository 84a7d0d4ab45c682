// Deletes random pods under load, some with their grace period and some without. No task may be affected.
import { pods } from '@matte/controller/operator/kube/client'
import type { Pod } from '@matte/controller/operator/kube/objects'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { fakeImage, tritonImage } from './support/images.ts'
import { expectNothingLost, type Load, startLoad } from './support/load.ts'
import { isReady, useOperator } from './support/operator.ts'
import { inSeconds, print, quantile } from './support/scenario.ts'

/** 30 in `make e2e`, 1,000 in `make e2e-full`. */
const deletions = Number(process.env.E2E_DELETIONS ?? 30)
const sample = Math.max(6, Math.round(deletions / 50))
/** One deletion in this many has no grace period, like the loss of a node. */
const abruptEvery = 3

const cases = [
  { name: 'fakes', image: fakeImage, count: deletions, replicas: 6, rate: 10, cpu: '20m' },
  { name: 'triton', image: tritonImage, count: sample, replicas: 3, rate: 1, cpu: '100m' },
]

describe('random deletions of pods under load', () => {
  for (const { name, image, count, replicas, rate, cpu } of cases) {
    describe(`of ${name}`, () => {
      const operator = useOperator()
      let receiver: Receiver
      beforeAll(async () => {
        receiver = await startReceiver()
        await operator.startController()
        await operator.applyPool(name, {
          image,
          replicas,
          scaling: { owner: 'external' },
          resources: { requests: { cpu, memory: '64Mi' } },
        })
        await operator.untilPool(name, 'is at its size', ({ status }) => status?.readyReplicas === replicas)
      })
      afterAll(() => receiver.close())

      it(`loses nothing in ${count}`, { timeout: count * 20_000 + 300_000 }, async () => {
        const { stack } = operator
        const load = await startLoad({ stack, receiver })
        load.rate(rate)
        const begun = performance.now()
        const abrupt = await deleteAtRandom(count, load)
        const took = performance.now() - begun
        await load.stop()
        const { tasks } = await expectNothingLost({ stack, receiver }, load)
        expect(tasks).toBeGreaterThan(count)
        print(
          `${name}: ${count} deletions (${abrupt} without grace) in ${inSeconds(took)}; ` +
            `${tasks} tasks: 0 lost, 0 twice, 0 failed, 0 attempts spent; ${await waits()}`,
        )
      })

      /** At least two pods are left, as with a disruption budget. */
      async function deleteAtRandom(of: number, load: Load): Promise<number> {
        let abrupt = 0
        for (let done = 1; done <= of; done++) {
          const ready = await until(
            'three pods are ready',
            async () => {
              const usable = (await operator.podsOf(name)).filter(isReady)
              return usable.length >= 3 && usable
            },
            { everyMs: 100, timeoutMs: 180_000 },
          )
          const { metadata } = ready[Math.floor(Math.random() * ready.length)] as Pod
          const isAbrupt = done % abruptEvery === 0
          abrupt += Number(isAbrupt)
          await operator.kube.delete(pods, metadata.name, {
            ...(metadata.uid && { uid: metadata.uid }),
            ...(isAbrupt && { gracePeriodSeconds: 0 }),
          })
          if (done % Math.max(10, of / 20) === 0) {
            print(`${name}: ${done} of ${of} pods deleted, ${load.ids.length} tasks accepted`)
          }
        }
        return abrupt
      }

      async function waits(): Promise<string> {
        const rows = await operator.stack.db.selectFrom('task').select(['queued_at', 'completed_at']).execute()
        const seconds = rows.map((row) => (row.completed_at?.getTime() ?? Number.NaN) - row.queued_at.getTime())
        const [median, p99, longest] = [0.5, 0.99, 1].map((share) => inSeconds(quantile(seconds, share)))
        return `created to succeeded: median ${median}, p99 ${p99}, longest ${longest}`
      }
    })
  }
})
