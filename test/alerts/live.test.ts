// Alerts in a real Prometheus with the chart's rules: those of a fault fire, others do not. Prometheus scrapes the real
// processes while their dependencies are stopped. One second here is 20 seconds of the rules; age thresholds are scaled
// likewise. Pools and leaders need a cluster, and certificates a TLS server: only promtool tests their rules
// (test/chart/alerts).
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { stringify } from 'yaml'
import { chartDir, findMissing } from '../chart/helm.ts'
import { findMissingPrometheus, type Prometheus, startPrometheus } from '../dashboards/prometheus.ts'
import { lemur } from '../support/photos.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { useStack } from '../support/stack.ts'
import { cutOut, submit, untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'
import { renderScaledRules } from './scaled-rules.ts'

const values = {
  objectives: { minimumFailures: 3 },
  thresholds: { stuckSeconds: 15, unsentSeconds: 15, queuedSeconds: 180, overdueSeconds: 90, webhookAttempts: 5 },
}

type While = {
  readonly meanwhile?: () => Promise<unknown>
  /** Alerts that fire later and may fire already. */
  readonly perhaps?: readonly string[]
}

/** Completion times that the values allow. */
async function allowedSeconds(): Promise<number[]> {
  const schema = JSON.parse(await readFile(join(chartDir, 'values.schema.json'), 'utf8'))
  const objectives = schema.properties.metrics.properties.rules.properties.objectives
  return objectives.properties.completionSeconds.additionalProperties.enum
}

// A fault takes a minute or two to be detected, and to clear.
describe.skipIf(findMissing('helm') ?? findMissingPrometheus('test/alerts'))(
  'in a real Prometheus',
  { timeout: 900_000 },
  () => {
    const stack = useStack({ own: ['postgres', 'nats', 'store'] })
    let prometheus: Prometheus
    let receiver: Receiver
    /** Uploaded image, for create requests that should fail. */
    let imageUrl: string

    beforeAll(async () => {
      receiver = await startReceiver()
      const dir = join(inject('runDir'), `prometheus-${randomBytes(4).toString('hex')}`)
      prometheus = await startPrometheus(dir, { namespace: 'here', rules: stringify(await renderScaledRules(values)) })
      watchAll()
    })
    afterAll(async () => {
      await prometheus?.stop()
      await receiver?.close()
    })

    const watchAll = (): void =>
      prometheus.watch((['api', 'worker', 'dispatcher'] as const).map((name) => stack.process(name)))
    const image = () => cutOut(stack.client, { callbackUrl: receiver.url })
    const valuesOf = async (promql: string): Promise<(number | undefined)[]> =>
      (await prometheus.query(promql)).map(({ points }) => points[0]?.[1])
    /** Number of evaluations of the rules. */
    const evaluations = async (): Promise<number> =>
      (await valuesOf('count_over_time(matte:accept_failures:ratio_rate5m[1h])'))[0] ?? 0
    /** Sorted names of firing alerts. */
    async function firingNow(severity = '.*'): Promise<string[]> {
      const firing = await prometheus.query(`ALERTS{alertstate="firing",severity=~"${severity}"}`)
      return [...new Set(firing.map(({ labels }) => labels.alertname ?? ''))].sort()
    }

    /** Waits until all of these fire, and checks that no others do. */
    async function expectFiring(names: readonly string[], { meanwhile, perhaps = [] }: While = {}) {
      let firing: readonly string[] = []
      const seen = async (): Promise<boolean> => {
        await meanwhile?.()
        firing = await firingNow()
        return names.every((name) => firing.includes(name))
      }
      await until(`${names.join(', ')} fire; ${firing}`, seen, { everyMs: 500, timeoutMs: 240_000 })
      expect(firing.filter((name) => !perhaps.includes(name))).toEqual([...names].sort())
    }

    /** A burn rate alert lasts longer than the fault. */
    const untilQuiet = (but?: string): Promise<unknown> =>
      until(
        'nothing fires, with images in between',
        async () => {
          await image()
          return (await firingNow()).every((name) => name === but)
        },
        { everyMs: 500, timeoutMs: 300_000 },
      )

    it('a healthy service fires nothing, for longer than every `for`', async () => {
      await until('20 minutes of the rules have passed', async () => (await image()) && (await evaluations()) > 60, {
        timeoutMs: 600_000,
      })
      expect(await prometheus.query('count by (alertname) (max_over_time(ALERTS{alertstate="firing"}[1h]))')).toEqual(
        [],
      )
      const up = await prometheus.query('count(matte_build_info) by (process)')
      expect(up.map(({ labels }) => labels.process).sort()).toEqual(['api', 'worker', 'dispatcher'])
      expect(await valuesOf('matte:accept_failures:ratio_rate5m')).toEqual([0])
      // Absent if no bucket matches the plan's seconds in Prometheus' notation.
      expect(await valuesOf('matte:completion_late:ratio_rate5m{plan="internal"}')).toEqual([0])
      const buckets = await prometheus.query('count by (le) (matte_task_completion_seconds_bucket)')
      expect(buckets.map(({ labels }) => Number(labels.le))).toEqual(expect.arrayContaining(await allowedSeconds()))
    })

    it('a NATS outage is only a ticket, because work continues', async () => {
      await stack.server('nats').stop()
      await expectFiring(['MatteNatsDisconnected'], { meanwhile: image })
      expect(await firingNow('critical')).toEqual([])
      await stack.server('nats').start()
      await untilQuiet()
    })

    it('no controller: tasks wait, and nothing is deleted', async () => {
      await stack.process('worker').kill('SIGKILL')
      await stack.client.presign({ fileName: 'photo.png', contentType: 'image/png', fileSize: 1 })
      await sql`update upload set created_at = now() - interval '31 hours' where used_at is null`.execute(stack.db)
      const task = await submit(stack.client)
      await expectFiring(['MatteProcessAbsent', 'MatteRetentionLate', 'MatteTasksWaiting'])
      await stack.start('worker')
      watchAll()
      await untilStatus(stack.client, task.id, 'succeeded')
      await untilQuiet()
    })

    it('no dispatcher: webhooks are due', async () => {
      await stack.process('dispatcher').kill('SIGKILL')
      await image()
      await expectFiring(['MatteDeliveriesOverdue', 'MatteProcessAbsent'])
      await stack.start('dispatcher')
      watchAll()
      await untilQuiet()
    })

    it('a record changed by hand violates an invariant', async () => {
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

    it('no receiver: most webhooks fail', async () => {
      await receiver.close()
      for (let count = 0; count < 4; count++) await image()
      await expectFiring(['MatteWebhooksFailing'])
      receiver = await startReceiver()
      await untilQuiet()
    })

    it('no object store: create requests fail', async () => {
      imageUrl = await stack.client.upload(lemur())
      await stack.server('store').stop()
      await expectFiring(['MatteAcceptFailing', 'MatteStoreUnreachable'], { meanwhile: createInVain })
      await stack.server('store').start()
      await untilQuiet('MatteAcceptFailing')
    })

    it('no database: everything fails, each alert once', async () => {
      imageUrl = await stack.client.upload(lemur())
      await stack.server('postgres').stop()
      await expectFiring(['MatteAcceptFailing', 'MatteClaimsFailing', 'MatteDatabaseUnreachable'], {
        meanwhile: createInVain,
        perhaps: ['MatteReadingsMissing'],
      })
      await stack.server('postgres').start()
      await untilQuiet('MatteAcceptFailing')
    })

    /** Replaces the API, which reads the invariants at start and every five minutes. The new one starts first. */
    async function replaceApi(): Promise<void> {
      const former = stack.process('api')
      await stack.start('api')
      watchAll()
      await former.stop()
    }

    const createInVain = (): Promise<unknown> => stack.client.createTask({ imageUrl }).catch(() => undefined)
  },
)
