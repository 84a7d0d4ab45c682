// Processes of a production installation refuse servers without TLS before they connect. That they work with TLS is
// shown in test/servers/private-authority.test.ts.
import { describe, expect, it } from 'vitest'
import { adminText } from '../support/admin.ts'
import { useStack } from '../support/stack.ts'

describe('with TLS_REQUIRED=database,nats,store and servers without TLS', () => {
  const stack = useStack({ processes: [] })
  const required = { TLS_REQUIRED: 'database,nats,store' }

  it.each(['api', 'worker', 'dispatcher'] as const)(
    'the %s ends at its start and says what to change',
    async (name) => {
      const failing = stack.start(name, required)
      await expect(failing).rejects.toThrow(
        /DATABASE_URL has no TLS: add sslmode=verify-full to it.*\n.*NATS_URL has no TLS/,
      )
      if (name !== 'dispatcher') await expect(failing).rejects.toThrow(/S3_ENDPOINT has no TLS: use an https URL/)
      await expect(failing).rejects.not.toThrow(stack.env(name).DATABASE_URL ?? '')
    },
  )

  it('matte-admin ends in the same way', async () => {
    const command = adminText(['secrets', 'reseal'], { ...stack.env('api'), ...required })
    await expect(command).rejects.toMatchObject({ code: 2, stderr: expect.stringMatching(/DATABASE_URL has no TLS/) })
  })

  it('a process starts if the connection is not named', async () => {
    const dispatcher = await stack.start('dispatcher', { TLS_REQUIRED: 'store' })
    await dispatcher.untilLogged('bus connected')
  })
})
