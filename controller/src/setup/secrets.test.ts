import { pino } from 'pino'
import { expect, it } from 'vitest'
import type { KubeClient } from '../operator/kube/client.ts'
import { ensureSecret } from './secrets.ts'

const options = { secretName: 'matte-secrets', databaseHost: 'postgresql', natsHost: 'nats' }
const logger = pino({ level: 'silent' })

/** The Secret as an API server would keep it. */
function givenSecret(data?: Readonly<Record<string, string>>) {
  let stored: Record<string, string> | undefined = data && encoded(data)
  const kube = {
    namespace: 'here',
    get: async () => stored && { metadata: { name: 'matte-secrets', resourceVersion: '1' }, data: stored },
    create: async (_resource: unknown, made: { data: Record<string, string> }) => {
      stored = made.data
    },
    mergePatch: async (_resource: unknown, _name: string, patch: { data: Record<string, string> }) => {
      stored = { ...stored, ...patch.data }
    },
  } as unknown as KubeClient // only the functions that ensureSecret calls
  const read = () =>
    Object.fromEntries(
      Object.entries(stored ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    )
  return { kube, read }
}

const encoded = (data: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]))

it('has a URL with its own user and password for each process', async () => {
  const { kube, read } = givenSecret()
  await ensureSecret(kube, options, logger)
  const urls = ['API', 'WORKER', 'OPERATOR', 'DISPATCHER'].map((name) => new URL(read()[`DATABASE_URL_${name}`] ?? ''))
  expect(urls.map(({ username }) => username)).toEqual([
    'matte_api',
    'matte_worker',
    'matte_operator',
    'matte_dispatcher',
  ])
  expect(new Set([...urls.map(({ password }) => password), read().POSTGRES_PASSWORD]).size).toBe(5)
  expect(urls.every(({ host, pathname }) => host === 'postgresql:5432' && pathname === '/matte')).toBe(true)
})

it('adds the URLs to an older installation, and changes none of its values', async () => {
  const before = { POSTGRES_PASSWORD: 'kept', DATABASE_URL: 'postgresql://matte:kept@postgresql:5432/matte' }
  const { kube, read } = givenSecret(before)
  await ensureSecret(kube, options, logger)
  const made = read()
  expect(made.OPERATOR_TOKEN).toMatch(/^[\w-]{43}$/)
  expect(made).toMatchObject({ ...before, DATABASE_URL_WORKER: expect.stringContaining('//matte_worker:') })
  await ensureSecret(kube, options, logger)
  expect(read()).toEqual(made)
})
