// Loss and return of the object store: no grants meanwhile, and tasks in flight are repeated.
import { writeSetting } from '@matte/core/setting/setting-queries'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { makeDue, readHistory } from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { photo } from '../support/photos.ts'
import { useStack } from '../support/stack.ts'
import { attemptsOf, cutOut, download, submit, untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'

const unavailable = { status: 503, code: 'TASK_STORAGE_UNAVAILABLE' }
const grantRequest = { fileName: 'photo.png', contentType: 'image/png' }

describe('with the object store', () => {
  const stack = useStack({ own: ['store', 'triton'] })
  /** The API has its own probe, which notices later. */
  const untilGranted = () =>
    until('presign works again', () => stack.client.presign(grantRequest).catch(() => undefined))

  it.each([
    ['gone', 'SIGKILL'],
    ['hanging', 'SIGSTOP'],
  ] as const)('%s, presign and create return 503, and work again once it is back', async (_, fault) => {
    const store = stack.server('store')
    const imageUrl = await stack.client.upload(photo('coffee.png'))
    await store.kill(fault)
    const refusal = await until('presign is refused', () =>
      stack.client.presign(grantRequest).then(
        () => undefined,
        (error: unknown) => error,
      ),
    )
    expect(refusal).toMatchObject(unavailable)
    expect(Number((refusal as { headers: Headers }).headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    await expect(stack.client.createTask({ imageUrl })).rejects.toMatchObject(unavailable)
    if (fault === 'SIGKILL') await store.start()
    else await store.kill('SIGCONT')
    await untilGranted()
    const { id } = await stack.client.createTask({ imageUrl })
    await untilStatus(stack.client, id, 'succeeded')
  })

  it.each([
    ['gone', 'SIGKILL'],
    ['hanging', 'SIGSTOP'],
  ] as const)('%s for any time, neither a task in flight nor a waiting one loses an attempt', async (_, fault) => {
    const { client, db } = stack
    const [store, triton] = [stack.server('store'), stack.server('triton')]
    const { resultUrl: earlier } = await cutOut(client)
    await triton.kill('SIGSTOP')
    const inFlight = await submit(client)
    await untilStatus(client, inFlight.id, 'processing')
    await writeSetting(db, 'dispatchPaused', true)
    const waiting = await submit(client)
    const tasks = [inFlight, waiting]
    const controller = stack.process('worker')
    const before = controller.log().length
    const isKnown = () => controller.log().some(({ msg }, at) => at >= before && msg === 'object store is down')
    await store.kill(fault)
    if (fault === 'SIGSTOP') await until('the controller has noticed', isKnown)
    await triton.kill('SIGCONT')
    await writeSetting(db, 'dispatchPaused', false)
    if (fault === 'SIGKILL') {
      const givenBack = await controller.untilLogged('task given back', ({ task_id }) => task_id === inFlight.id)
      expect(givenBack).toMatchObject({ stopped: false })
    }
    // Five attempts take less than this without pauses.
    const hasPassed = async (seconds: number): Promise<boolean> => {
      const ended = sql`select where now() > ${inFlight.createdAt}::timestamptz + ${seconds} * interval '1 s'`
      return (await ended.execute(db)).rows.length > 0
    }
    await until('as long an outage has passed', async () => {
      for (const task of tasks) await makeDue(db, task)
      return hasPassed(20)
    })
    expect(await client.getTask(inFlight.id)).toMatchObject({ status: 'processing', failure: null })
    if (fault === 'SIGSTOP') expect(await client.getTask(waiting.id)).toMatchObject({ status: 'queued' })
    // This store accepts uploads some seconds before it finds its old objects; an attempt meanwhile counts.
    await writeSetting(db, 'dispatchPaused', true)
    await until('the pause is known', () => hasPassed(25))
    if (fault === 'SIGKILL') await store.start()
    else await store.kill('SIGCONT')
    await untilGranted()
    await until('old objects are there', () => download(earlier).then(() => true))
    await writeSetting(db, 'dispatchPaused', false)
    for (const { id } of tasks) {
      const { resultUrl } = await untilStatus(client, id, 'succeeded')
      expect((await download(resultUrl)).length).toBeGreaterThan(0)
      expect(await attemptsOf(db, id)).toBe(1)
      expect(await readHistory(db, id)).toEqual(['queued', 'processing', 'succeeded'])
    }
    expect(await findBrokenRules(db)).toEqual({})
  })
})
