// A model with two views through the whole service. The fake Triton sees only the left half of its input, so the right
// half of a result comes from the mirror image.
import { sql } from 'kysely'
import sharp from 'sharp'
import { afterEach, describe, expect, it } from 'vitest'
import { readMetrics } from '../e2e/support/metrics.ts'
import { readHistory } from '../support/factories.ts'
import { type Fake, startFake } from '../support/fake-triton.ts'
import { findBrokenRules } from '../support/invariants.ts'
import type { LogLine } from '../support/processes.ts'
import { startReceiver } from '../support/receiver.ts'
import { useStack } from '../support/stack.ts'
import { attemptsOf, cutOut, download, submit, untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'

type Behaviour = Parameters<Fake['change']>[0]
type Span = { name: string; attributes: { key: string; value: { stringValue?: string } }[] }
type Export = { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }

describe('a model with two views', () => {
  const stack = useStack({ processes: ['api'] })
  let ends: (() => Promise<void>)[] = []

  afterEach(async () => {
    for (const end of ends.reverse()) await end()
    ends = []
  })

  /** A pod and a controller that has found it; it gets one request beyond its instances. */
  async function given(instances: number, behaviour: Behaviour, env: Record<string, string> = {}) {
    const pod = await startFake({ models: [{ name: 'u2netp', instances, views: 2, isHalfBlind: true }], behaviour })
    ends.push(pod.kill)
    const models = [{ name: 'service-v2', tritonModel: 'u2netp', addresses: [pod.address], default: true }]
    const controller = await stack.start('worker', { MODELS_STATIC: JSON.stringify(models), ...env })
    ends.push(controller.stop)
    const ready = await controller.untilLogged('pod ready')
    return { pod, controller, ready }
  }

  it('runs both views at once, counted as one request in log, metrics and trace', async () => {
    const exporter = await startReceiver()
    const { pod, controller, ready } = await given(2, { serviceMs: 300 }, { OTEL_EXPORTER_OTLP_ENDPOINT: exporter.url })
    expect(ready).toMatchObject({ models: [{ name: 'u2netp', views: 2 }] })
    const { resultUrl } = await cutOut(stack.client, { bytes: await corners() })
    expect(pod.counts()).toMatchObject({ asked: 2, done: 2, inFlightMax: 2 })
    // The mirror image finds bottom right. The other two corners are empty.
    expect(await alphaOfCorners(await download(resultUrl))).toEqual(['full', 'none', 'none', 'full'])
    const metrics = await readMetrics(controller)
    expect(metrics.sum('matte_model_pods', { model: 'u2netp', views: '2' })).toBe(1)
    expect(metrics.sum('matte_task_stage_seconds_count', { stage: 'infer' })).toBe(1)
    await controller.stop()
    const spans = exporter.received
      .flatMap(({ bytes }) => (JSON.parse(bytes.toString()) as Export).resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
      .filter(({ name }) => name === 'triton.infer')
    const views = spans.map(({ attributes }) => attributes.find(({ key }) => key === 'matte.view')?.value.stringValue)
    expect(views.sort()).toEqual(['mirror', 'photo'])
    await exporter.close()
    // The service time for scaling is that of both views.
    const { rows } = await sql<{ done: number; busy: number }>`
      select sum(done)::int as done, sum(busy_seconds)::float8 as busy from inference_window`.execute(stack.db)
    expect(rows[0]?.done).toBe(1)
    expect(rows[0]?.busy).toBeGreaterThanOrEqual(0.59)
  })

  it('with one instance completes fifty concurrent tasks', async () => {
    const { pod } = await given(1, { serviceMs: 5 })
    const bytes = await sharp(await corners())
      .resize(64)
      .png()
      .toBuffer()
    const tasks = await Promise.all(Array.from({ length: 50 }, () => submit(stack.client, { bytes })))
    for (const { id } of tasks) await untilStatus(stack.client, id, 'succeeded')
    expect(pod.counts()).toMatchObject({ asked: 100, done: 100, inFlightMax: 2 })
    expect(await findBrokenRules(stack.db)).toEqual({})
  })

  it('that fails for one view costs an attempt, and the next attempt runs both', async () => {
    const { pod, controller } = await given(2, { serviceMs: 50, errorRate: 0.5 })
    const { id } = await submit(stack.client)
    const isOwn = ({ task_id }: LogLine): boolean => task_id === id
    const failed = await controller.untilLogged('task attempt failed', isOwn)
    expect(failed).toMatchObject({ reason: 'INFERENCE_ERROR', outcome: 'waiting' })
    pod.change({ errorRate: 0 })
    await untilStatus(stack.client, id, 'succeeded')
    expect((await readHistory(stack.db, id)).slice(0, 3)).toEqual(['queued', 'processing', 'attempt_failed'])
    const { failed: errors } = pod.counts()
    expect(await attemptsOf(stack.db, id)).toBe(errors + 1)
    expect((await readMetrics(controller)).sum('matte_task_attempts_total', { status: 'waiting' })).toBe(errors)
  })

  it('cancels both views when the task is given back, without costing an attempt', async () => {
    const { pod, controller } = await given(2, { serviceMs: 60_000 }, { STOP_WITHIN_MS: '1000' })
    const { id } = await submit(stack.client)
    await until('both are in flight', () => pod.counts().inFlight === 2)
    await controller.stop()
    await until('both are given up', () => pod.counts().cancelled === 2)
    expect(await attemptsOf(stack.db, id)).toBe(0)
    expect(await stack.client.getTask(id)).toMatchObject({ status: 'processing', failure: null })
  })
})

/** Red squares in the corners top left and bottom right, on black. */
async function corners(): Promise<Buffer> {
  const square = await sharp({ create: { width: 200, height: 200, channels: 3, background: '#ff0000' } })
    .png()
    .toBuffer()
  return sharp({ create: { width: 640, height: 640, channels: 3, background: '#000000' } })
    .composite([
      { input: square, left: 60, top: 60 },
      { input: square, left: 380, top: 380 },
    ])
    .png()
    .toBuffer()
}

/** Alpha in the middle of each corner's square: top left, top right, bottom left, bottom right. */
async function alphaOfCorners(png: Buffer): Promise<string[]> {
  const { data, info } = await sharp(png).extractChannel('alpha').raw().toBuffer({ resolveWithObject: true })
  const at = (x: number, y: number): number => data[y * info.width + x] ?? -1
  const name = (alpha: number): string => (alpha === 0 ? 'none' : alpha > 250 ? 'full' : String(alpha))
  return [at(160, 160), at(480, 160), at(160, 480), at(480, 480)].map(name)
}
