// The default maximum of streams of a replica, a quarter of them in each of four workspaces: each receives every event
// of its workspace. `make bench ARGS=streams` measures their memory.
import { expect, it } from 'vitest'
import { issuerAt, openMany } from '../support/app/many-streams.ts'
import { givenPerson } from '../support/app/people.ts'
import { givenTask, givenWorkspace } from '../support/factories.ts'
import { useStack } from '../support/stack.ts'
import { until } from '../support/until.ts'

const stack = useStack({ processes: ['api'] })

it('a thousand streams of one process get every event', async () => {
  const issuer = issuerAt(stack.process('api').url, stack.env('api').MASTER_KEYS ?? '')
  const workspaces = await Promise.all([1, 2, 3, 4].map(() => givenWorkspace(stack.db)))
  const people = await Promise.all(
    workspaces.map(({ id: workspaceId }) => givenPerson(stack.db, issuer, { member: { workspaceId, role: 'member' } })),
  )
  const tokens = people.map(({ accessToken }) => accessToken)
  const streams = await openMany(issuer.url, tokens, 250)
  expect(streams).toHaveLength(1_000)
  await expect(openMany(issuer.url, tokens.slice(0, 1), 1)).rejects.toThrow('429')
  const tasks = await Promise.all(
    workspaces.map((workspace) => Promise.all([1, 2, 3].map(() => givenTask(stack.db, workspace)))),
  )
  const wanted = tasks.flatMap((ofOne) => Array.from({ length: 250 }, () => ofOne.map(({ id }) => id)))
  await until('each has every event', () => streams.every(({ seen }) => seen.size === 3))
  expect(streams.filter(({ seen }, index) => wanted[index]?.some((id) => !seen.has(id)))).toEqual([])
  for (const { close } of streams) close()
})
