// Tasks while one of several pods stalls, fails or leaves: the whole service with fake Tritons. No pod's end costs a
// task an attempt (D32).
import { sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'
import { readMetrics } from '../e2e/support/metrics.ts'
import { readHistory } from '../support/factories.ts'
import { type Fake, type FakeOptions, startFake } from '../support/fake-triton.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { useStack } from '../support/stack.ts'
import { attemptsOf, cutOut, submit, untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'

const clean = ['queued', 'processing', 'succeeded']
const models = [{ name: 'u2netp', instances: 2 }]

describe('with several pods', () => {
  const stack = useStack({ processes: ['api'] })
  const pods: Fake[] = []

  afterEach(async () => {
    await stack.process('worker').stop()
    await Promise.all(pods.splice(0).map((pod) => pod.kill()))
  })

  async function given(count: number, options: FakeOptions = {}, env: Record<string, string> = {}) {
    for (let index = 0; index < count; index++) pods.push(await startFake({ models, ...options }))
    const addresses = pods.map(({ address }) => address)
    const controller = await stack.start('worker', {
      MODELS_STATIC: JSON.stringify([{ name: 'service-v2', tritonModel: 'u2netp', addresses, default: true }]),
      ...env,
    })
    const untilReady = (pod: Fake) => controller.untilLogged('pod ready', (line) => line.pod === pod.address)
    await Promise.all(pods.map(untilReady))
    const taken = (reason: string) => controller.untilLogged('pod ejected', (line) => line.reason === reason)
    return { controller, taken, pods: [...pods] as [Fake, ...Fake[]] }
  }
  const submitMany = (count: number) => Promise.all(Array.from({ length: count }, () => submit(stack.client)))
  const inFlight = (): number => pods.reduce((sum, pod) => sum + pod.counts().inFlight, 0)

  it.each([
    ['is killed', {}, (pod: Fake) => pod.kill()],
    // Triton from 25.05 on rejects new requests and waits for open ones; before, it serves until it is killed.
    ['stops and refuses new requests', { stopping: 'refuse' }, (pod: Fake) => pod.stop()],
    ['stops and aborts open requests', { stopping: 'refuse', exitTimeoutMs: 50 }, (pod: Fake) => pod.stop()],
    ['stops and continues to serve', { stopping: 'serve' }, (pod: Fake) => pod.stop()],
  ] as const)('one that %s costs no task an attempt', async (_what, options, end) => {
    const {
      pods: [leaving],
    } = await given(3, { ...options, behaviour: { serviceMs: 700 } })
    const tasks = await submitMany(9)
    await until('each has some in flight', () => pods.every((pod) => pod.counts().inFlight > 0))
    await end(leaving)
    for (const { id } of tasks) {
      await untilStatus(stack.client, id, 'succeeded')
      expect(await attemptsOf(stack.db, id)).toBe(1)
      expect(await readHistory(stack.db, id)).toEqual(clean)
    }
    expect(await findBrokenRules(stack.db)).toEqual({})
  })

  it('all gone, the tasks are given back, wait, and have lost no attempt when one is back', async () => {
    const { controller } = await given(2, { behaviour: { serviceMs: 60_000 } })
    const tasks = await submitMany(4)
    await until('all are in flight', () => inFlight() === 4)
    const [first] = pods
    await Promise.all(pods.map((pod) => pod.kill()))
    const givenBack = (): number => controller.log().filter(({ msg }) => msg === 'task given back').length
    // A returned task may have been sent to the pod that was killed last, and returned again.
    await until(
      'all are given back',
      async () => (await readRows()).every(({ claim }) => claim === null) && givenBack() >= 4,
    )
    const before = await readRows()
    expect(before.map(({ attempt }) => attempt)).toEqual([0, 0, 0, 0])
    const errors = { dependency: 'triton', reason: 'unreachable' }
    expect((await readMetrics(controller)).sum('matte_dependency_errors_total', errors)).toBeGreaterThanOrEqual(4)

    const [, port = ''] = (first?.address ?? '').split(':')
    const ports = { grpc: Number(port), http: 0, metrics: 0 }
    const back = await startFake({ models, ports, behaviour: { isReady: false } })
    pods.push(back)
    // The log line may follow its row.
    await until('it was asked twice', () => back.counts().probed >= 2)
    const timesBefore = givenBack()
    // The claim timer fires four times a second; nothing is claimed without a ready pod.
    await until('it was asked a few times more', () => back.counts().probed >= 6)
    expect(await readRows()).toEqual(before)
    expect(givenBack()).toBe(timesBefore)
    back.change({ isReady: true })
    for (const { id } of tasks) {
      await untilStatus(stack.client, id, 'succeeded')
      expect(await attemptsOf(stack.db, id)).toBe(1)
      expect(await readHistory(stack.db, id)).toEqual(clean)
    }
  })

  it('one that stalls costs its images one attempt, and no task fails', async () => {
    const {
      pods: [bad],
      taken,
    } = await given(2, {}, { INFERENCE_TIMEOUT_MS: '5000' })
    bad.change({ stalls: true })
    const tasks = await submitMany(12)
    await taken('timeout')
    for (const { id } of tasks) await untilStatus(stack.client, id, 'succeeded')
    // Retries go to the other pod, also while this one is on probation.
    const attempts = await Promise.all(tasks.map(({ id }) => attemptsOf(stack.db, id)))
    expect(Math.max(...attempts)).toBe(2)
    expect(await findBrokenRules(stack.db)).toEqual({})
  })

  it('one that returns an error for every image is ejected, and no task fails', async () => {
    const {
      pods: [bad],
      taken,
    } = await given(3)
    bad.change({ errorRate: 1 })
    const tasks = await submitMany(15)
    await taken('failed')
    for (const { id } of tasks) await untilStatus(stack.client, id, 'succeeded')
    expect(await findBrokenRules(stack.db)).toEqual({})
  })

  it('outcomes, slot time and latency are recorded for scaling', async () => {
    await sql`truncate inference_window`.execute(stack.db)
    await given(2, { behaviour: { serviceMs: 100 } })
    for (let task = 0; task < 3; task++) await cutOut(stack.client)
    await stack.process('worker').stop()
    const rows = await stack.db.selectFrom('inference_window').selectAll().execute()
    const sum = (read: (row: (typeof rows)[number]) => number): number =>
      rows.reduce((total, row) => total + read(row), 0)
    expect(rows.every(({ pool, revision }) => pool === 'service-v2' && revision === 'static')).toBe(true)
    expect([sum((row) => row.done), sum((row) => row.ended)]).toEqual([3, 3])
    expect(sum((row) => row.busy_seconds)).toBeGreaterThanOrEqual(0.29)
    await stack.start('worker')
  })

  const readRows = () =>
    stack.db
      .selectFrom('task')
      .select(['id', 'status', 'attempt', 'claim'])
      .where('status', '=', 'processing')
      .orderBy('id')
      .execute()
})
