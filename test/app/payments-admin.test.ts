// `matte-admin refund`, as an operator runs it.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { buy } from '../support/app/payments.ts'
import { givenPerson } from '../support/app/people.ts'
import { nodeEnv } from '../support/free-ports.ts'

const world = useApi()
const main = fileURLToPath(import.meta.resolve('@matte/api/admin/main'))
const masterKeys = `test:${Buffer.alloc(32, 1).toString('base64')}`

async function refund(args: readonly string[], env: Record<string, string> = {}) {
  const { stdout } = await promisify(execFile)(process.execPath, [main, 'refund', ...args, '--json'], {
    env: {
      ...nodeEnv(),
      DATABASE_URL: world.databaseUrl,
      MATTE_ENV: 'development',
      MASTER_KEYS: masterKeys,
      ...env,
    },
  })
  return JSON.parse(stdout) as Record<string, unknown>
}

it('matte-admin refund pays back what is left, and says why it cannot', async () => {
  const someone = await givenPerson(world.db, world.api, { plan: 'free', credits: 0 })
  const { id: orderId } = await buy(someone, { packId: 'small' })
  const part = await refund(['--order', orderId, '--amount', '90', '--reason', 'goodwill'])
  expect(part).toMatchObject({ orderId, status: 'succeeded', amount: 90, currency: 'USD', credits: 10 })
  expect(await refund(['--order', orderId, '--reason', 'all'])).toMatchObject({ amount: 810, credits: 90 })
  const nothing = { code: 1, stderr: expect.stringContaining('The order is refunded') }
  await expect(refund(['--order', orderId, '--reason', 'again'])).rejects.toMatchObject(nothing)
  const elsewhere = refund(['--order', orderId, '--reason', 'x'], { PAYMENTS_PROVIDER: 'none' })
  await expect(elsewhere).rejects.toMatchObject({ code: 1 })
  await expect(refund(['--order', orderId])).rejects.toMatchObject({ code: 2 })
  await expect(refund(['--order', orderId, '--reason', 'x'], { MASTER_KEYS: '' })).rejects.toMatchObject({ code: 2 })
})
