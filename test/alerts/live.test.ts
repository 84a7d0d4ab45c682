// The alerts that should fire do, and the others do not: a real Prometheus with the chart's rules reads the three real
// processes while what they stand on is taken away. One second here is 20 of the rules; thresholds of age are smaller
// by as much. Pools and leaders need a cluster, and refused certificates a server with one: promtool alone tests their
// rules (test/chart/alerts).
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { findMissing } from '../chart/helm.ts'
import { findMissingPrometheus } from '../dashboards/prometheus.ts'
import { lemur } from '../support/photos.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { useStack } from '../support/stack.ts'
import { cutOut, submit, untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'
import { type Prometheus, startPrometheus } from './prometheus.ts'
import { renderScaledRules } from './scaled-rules.ts'

const values = {
  objectives: { minimumFailures: 3 },
  thresholds: { stuckSeconds: 15, unsentSeconds: 15, queuedSeconds: 180, overdueSeconds: 90, webhookAttempts: 5 },
}

// A fault takes a minute or two to be one, and to be over.
describe.skipIf(findMissing('helm') ?? findMissingPrometheus('test/alerts'))(
  'in a real Prometheus',
  { timeout: 900_000 },
  () => {
    const stack = useStack({ own: ['postgres', 'nats', 'store'] })
    let prometheus: Prometheus
    let receiver: Receiver
    /** Of an upload, for creations that are to fail. */
    let imageUrl: string

    beforeAll(async () => {
      receiver = await startReceiver()
      const dir = join(inject('runDir'), `prometheus-${randomBytes(4).toString('hex')}`)
      prometheus = await startPrometheus(dir, await renderScaledRules(values))
      watchAll()
    })
    afterAll(async () => {
      await prometheus?.stop()
      await receiver?.close()
    })

    const watchAll = (): void =>
      prometheus.watch((['api', 'controller', 'dispatcher'] as const).map((name) => stack.process(name)))
    const image = () => cutOut(stack.client, { callbackUrl: receiver.url })
    /** How often the rules have been evaluated. */
    const evaluations = async (): Promise<number> =>
      (await prometheus.query('count_over_time(matte:accept_failures:ratio_rate5m[1h])'))[0]?.value ?? 0

    /** Waits until all of these fire, and looks whether others do. */
    async function expectFiring(names: readonly string[], meanwhile: () => Promise<unknown> = async () => {}) {
      let firing: readonly string[] = []
      const seen = async (): Promise<boolean> => {
        await meanwhile()
        firing = await prometheus.firing()
        return names.every((name) => firing.includes(name))
      }
      await until(`${names.join(', ')} fire; ${firing}`, seen, { everyMs: 500, timeoutMs: 240_000 })
      expect(firing).toEqual([...names].sort())
    }

    /** A budget that was spent goes on to be told of for longer than the fault. */
    const untilQuiet = (but?: string): Promise<unknown> =>
      until(
        'nothing fires, with images in between',
        async () => {
          await image()
          return (await prometheus.firing()).every((name) => name === but)
        },
        { everyMs: 500, timeoutMs: 300_000 },
      )

    it('a service that works fires nothing, for longer than any symptom has to last', async () => {
      await until('20 minutes of the rules have passed', async () => (await image()) && (await evaluations()) > 60, {
        timeoutMs: 600_000,
      })
      expect(await prometheus.query('count by (alertname) (max_over_time(ALERTS{alertstate="firing"}[1h]))')).toEqual(
        [],
      )
      const up = await prometheus.query('count(matte_build_info) by (process)')
      expect(up.map(({ labels }) => labels.process).sort()).toEqual(['api', 'controller', 'dispatcher'])
      // Prometheus 3 writes the bounds of buckets in its own way: the share of creations in time would be absent.
      expect(await prometheus.query('matte:accept_failures:ratio_rate5m')).toMatchObject([{ value: 0 }])
    })

    it('NATS away is a ticket and no more, since work goes on', async () => {
      await stack.server('nats').stop()
      await expectFiring(['MatteNatsDisconnected'], image)
      expect(await prometheus.firing('critical')).toEqual([])
      await stack.server('nats').start()
      await untilQuiet()
    })

    it('a controller that is gone: tasks wait, and nothing is deleted', async () => {
      await stack.process('controller').kill('SIGKILL')
      await stack.client.presign({ fileName: 'photo.png', contentType: 'image/png', fileSize: 1 })
      await sql`update upload set created_at = now() - interval '31 hours' where used_at is null`.execute(stack.db)
      const task = await submit(stack.client)
      await expectFiring(['MatteProcessAbsent', 'MatteRetentionLate', 'MatteTasksWaiting'])
      await stack.start('controller')
      watchAll()
      await untilStatus(stack.client, task.id, 'succeeded')
      await untilQuiet()
    })

    it('a dispatcher that is gone: webhooks are due', async () => {
      await stack.process('dispatcher').kill('SIGKILL')
      await image()
      await expectFiring(['MatteDeliveriesOverdue', 'MatteProcessAbsent'])
      await stack.start('dispatcher')
      watchAll()
      await untilQuiet()
    })

    it('a record that somebody changed by hand breaks a rule', async () => {
      const change = (by: number) => {
        const counts = sql`queued = queued + ${by}, open_singles = open_singles + ${by}`
        return sql`update workspace set ${counts} where id = ${stack.workspaceId}`.execute(stack.db)
      }
      await change(1)
      await replaceApi()
      await expectFiring(['MatteInvariantBroken'])
      await change(-1)
      await replaceApi()
      await untilQuiet()
    })

    it('a receiver that is gone: most webhooks fail', async () => {
      await receiver.close()
      for (let count = 0; count < 4; count++) await image()
      await expectFiring(['MatteWebhooksFailing'])
      receiver = await startReceiver()
      await untilQuiet()
    })

    it('a store that is gone: creations fail', async () => {
      imageUrl = await stack.client.upload(lemur())
      await stack.server('store').stop()
      await expectFiring(['MatteAcceptFailing', 'MatteStoreUnreachable'], createInVain)
      await stack.server('store').start()
      await untilQuiet('MatteAcceptFailing')
    })

    it('a database that is gone: everything fails, and says so once each', async () => {
      imageUrl = await stack.client.upload(lemur())
      await stack.server('postgres').stop()
      await expectFiring(['MatteAcceptFailing', 'MatteDatabaseUnreachable'], createInVain)
      await stack.server('postgres').start()
      await untilQuiet('MatteAcceptFailing')
    })

    /** Rules are read at the start, and every five minutes. The next one is there before the former goes. */
    async function replaceApi(): Promise<void> {
      const former = stack.process('api')
      await stack.start('api')
      watchAll()
      await former.stop()
    }

    const createInVain = (): Promise<unknown> => stack.client.createTask({ imageUrl }).catch(() => undefined)
  },
)
