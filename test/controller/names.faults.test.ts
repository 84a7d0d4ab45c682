// A controller that reaches every server by a name, as in a cluster, while it decodes photos on all its cores.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readHistory } from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { type NameServer, startNameServer } from '../support/names/name-server.ts'
import type { Env } from '../support/processes.ts'
import { useStack } from '../support/stack.ts'
import { cutOut, submit, untilStatus } from '../support/tasks.ts'

/** What our processes are started with. */
const poolSize = 16

const preload = join(import.meta.dirname, '../support/names/own-name-server.ts')

/** The setting of each server, and its name. */
const servers = {
  DATABASE_URL: 'postgres.matte.test',
  NATS_URL: 'nats.matte.test',
  S3_ENDPOINT: 'store.matte.test',
  MODELS_STATIC: 'triton.matte.test',
} as const

describe('by names', () => {
  const stack = useStack({ processes: ['api'] })
  let nameServer: NameServer

  beforeAll(async () => {
    nameServer = await startNameServer()
    // Asked again each second, so also in the middle of the work.
    for (const name of Object.values(servers)) nameServer.records.set(name, { addresses: ['127.0.0.1'], ttlSeconds: 1 })
    await stack.start('worker', (usual) => ({
      ...withNames(usual),
      SLOTS_AHEAD: '24',
      NODE_OPTIONS: `--import=${preload}`,
      TEST_NAME_SERVER: nameServer.address,
    }))
  })
  afterAll(() => nameServer.close())

  it('the store, PostgreSQL, NATS and Triton are found, by our own look-ups', async () => {
    await cutOut(stack.client)
    expect(new Set(nameServer.asked)).toEqual(new Set(Object.values(servers)))
  })

  it('photos of 12 megapixels, many at once, cost no attempt', async () => {
    const create = { width: 4_000, height: 3_000, channels: 3, background: '#357' } as const
    const bytes = await sharp({ create }).jpeg().toBuffer()
    const { pid } = stack.process('worker')
    const tasks = await Promise.all(Array.from({ length: 24 }, () => submit(stack.client, { bytes })))
    for (const { id } of tasks) {
      await untilStatus(stack.client, id, 'succeeded')
      expect(await readHistory(stack.db, id)).toEqual(['queued', 'processing', 'succeeded'])
    }
    expect(await findBrokenRules(stack.db)).toEqual({})
    expect(threadsOf(pid).filter((name) => name === 'libuv-worker')).toHaveLength(poolSize)
  })
})

const withNames = (usual: Env): Env =>
  Object.fromEntries(
    Object.entries(servers).map(([variable, name]) => [variable, (usual[variable] ?? '').replace('127.0.0.1', name)]),
  )

const threadsOf = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/task`).map((thread) => readFileSync(`/proc/${pid}/task/${thread}/comm`, 'utf8').trim())
