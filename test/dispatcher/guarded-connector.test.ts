import { guardedConnector } from '@matte/dispatcher/egress/guarded-connector'
import { Agent, request } from 'undici'
import { expect, it } from 'vitest'
import { startReceiver } from './receiver.ts'

it('connects to the second vetted address when the first is dead', async () => {
  const receiver = await startReceiver()
  const peers: string[] = []
  const agent = new Agent({
    allowH2: false,
    connect: guardedConnector({
      // Nothing listens at the first address, which also belongs to this machine.
      addressesOf: async () => ['127.0.0.2', '127.0.0.1'],
      isPeerAllowed: (address) => peers.push(address) > 0,
      connectTimeoutMs: 30_000,
    }),
  })
  const { statusCode } = await request(`http://receiver.example:${receiver.port}/`, { dispatcher: agent })
  expect(statusCode).toBe(204)
  expect(peers).toEqual(['127.0.0.1'])
  await agent.destroy()
  await receiver.close()
})
