// The object store goes and comes back: no grants meanwhile, and what was in flight is done again.
import { describe, expect, it } from 'vitest'
import { readHistory } from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { photo } from '../support/photos.ts'
import { useStack } from '../support/stack.ts'
import { cutOut, download, submit, untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'

const unavailable = { status: 503, code: 'TASK_STORAGE_UNAVAILABLE' }
const grantRequest = { fileName: 'photo.png', contentType: 'image/png' }

describe('with the object store', () => {
  const stack = useStack({ own: ['store', 'triton'] })

  it.each([
    ['gone', 'SIGKILL'],
    ['hanging', 'SIGSTOP'],
  ] as const)('%s, presign and create answer 503, and work again once it is back', async (_, fault) => {
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
    await until('presign works again', () => stack.client.presign(grantRequest).catch(() => undefined))
    const { id } = await stack.client.createTask({ imageUrl })
    await untilStatus(stack.client, id, 'succeeded')
  })

  it('gone, a task in flight is tried again until its result can be stored', async () => {
    const [store, triton] = [stack.server('store'), stack.server('triton')]
    await cutOut(stack.client)
    await triton.kill('SIGSTOP')
    const { id } = await submit(stack.client)
    await untilStatus(stack.client, id, 'processing')
    await store.stop()
    await triton.kill('SIGCONT')
    const failed = await stack.process('controller').untilLogged('task attempt failed', ({ task_id }) => task_id === id)
    expect(failed).toMatchObject({ reason: 'STORAGE_ERROR', outcome: 'waiting' })
    expect(await stack.client.getTask(id)).toMatchObject({ status: 'processing', failure: null })
    await store.start()
    const { resultUrl } = await untilStatus(stack.client, id, 'succeeded')
    expect((await download(resultUrl)).length).toBeGreaterThan(0)
    const history = await readHistory(stack.db, id)
    expect(history.filter((type) => type !== 'attempt_failed')).toEqual(['queued', 'processing', 'succeeded'])
    expect(await findBrokenRules(stack.db)).toEqual({})
  })
})
