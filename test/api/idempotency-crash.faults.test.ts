// The API dies between commit and response. `Prefer: wait` delays the response, so the test can hit this moment
// reliably.
import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import type { Task } from '../support/client.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { lemur } from '../support/photos.ts'
import { useStack } from '../support/stack.ts'
import { until } from '../support/until.ts'

const stack = useStack({ processes: ['api'] })

it('a creation whose response was lost with the process is replayed by the next: one task', async () => {
  const body = { imageUrl: await stack.client.upload(lemur()) }
  const key = randomUUID()
  const create = (prefer: string) =>
    stack.client.call<Task>('POST', '/tasks', { body, headers: { 'idempotency-key': key, prefer } })
  const lost = create('wait=25').then(
    () => 'answered',
    () => 'lost',
  )
  const { id } = await until('the task is committed', () => stack.db.selectFrom('task').select('id').executeTakeFirst())
  await stack.process('api').kill('SIGKILL')
  expect(await lost).toBe('lost')
  await stack.start('api')
  const again = await create('wait=0')
  expect(again.data).toMatchObject({ id, status: 'queued' })
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
  expect((await stack.client.listTasks()).total).toBe(1)
  expect(await findBrokenRules(stack.db)).toEqual({})
})
