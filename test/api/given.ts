// Setup of these tests: a running API on its own database, workspaces, images, and tasks in a given state, all created
// by production functions.
import { randomBytes } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import type { Db } from '@matte/core/db/database'
import type { ClaimedTask } from '@matte/core/task/run/claim-task'
import { finishTask } from '@matte/core/task/run/finish-task'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { type Scope, scopes } from '@matte/core/workspace/scope'
import sharp from 'sharp'
import { afterAll, beforeAll } from 'vitest'
import { startApi, type TestApi } from '../support/api.ts'
import type { Client } from '../support/client.ts'
import { useDatabase } from '../support/database.ts'
import { claimNext, givenWorkspace } from '../support/factories.ts'

export type Caller = {
  readonly client: Client
  readonly workspaceId: string
  readonly apiKeyId: string
  readonly apiKey: string
}

export type CallerOptions = {
  readonly plan?: string
  readonly credits?: number
  readonly scopes?: readonly Scope[]
  readonly expiresAt?: Date
}

export type World = {
  readonly db: Db
  readonly databaseUrl: string
  readonly api: TestApi
  /** A new workspace with a key and a client; by default `pro` with 100 credits. */
  caller(options?: CallerOptions): Promise<Caller>
}

/** An API and its database for the tests of the enclosing block. */
export function useApi(variables: Record<string, string> = {}): World {
  const database = useDatabase()
  let running: TestApi | undefined
  beforeAll(async () => {
    running = await startApi({ DATABASE_URL: database.url, ...variables })
  })
  afterAll(() => running?.stop())
  const api = (): TestApi => {
    if (running === undefined) throw new Error('the API runs inside tests and hooks only')
    return running
  }
  return {
    get db() {
      return database.db
    },
    get databaseUrl() {
      return database.url
    },
    get api() {
      return api()
    },
    caller: (options) => givenCaller(database.db, api(), options),
  }
}

export async function givenCaller(db: Db, api: Pick<TestApi, 'client'>, options: CallerOptions = {}): Promise<Caller> {
  const { plan = 'pro', credits = 100, expiresAt = null } = options
  const { id: workspaceId } = await givenWorkspace(db, { plan, credits })
  const key = generateApiKey()
  const row = await insertApiKey(db, key, { workspaceId, name: 'test', scopes: options.scopes ?? scopes, expiresAt })
  if (row === undefined) throw new Error('the key was not stored')
  return { client: api.client(key.key), workspaceId, apiKeyId: row.id, apiKey: key.key }
}

/** A small real image. */
export const smallImage = (format: 'png' | 'jpeg' | 'webp' = 'png', width = 40, height = 30): Promise<Buffer> =>
  sharp({ create: { width, height, channels: 3, background: '#4080c0' } })
    .toFormat(format)
    .toBuffer()

/** A valid one-bit PNG of this size; a side of 30,000 makes 112 MB of black and some 110 kB of file. */
export function hugePng(side: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  header[8] = 1
  const rows = deflateSync(Buffer.alloc(side * (Math.ceil(side / 8) + 1)))
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))])
}

/** Decoders reject the size before they verify the checksum, so it is zero. */
function chunk(type: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  return Buffer.concat([length, Buffer.from(type), data, Buffer.alloc(4)])
}

/** Claims until it gets this task; claims leftovers of other tests on the way. */
export async function claim(db: Db, taskId: string): Promise<ClaimedTask> {
  for (;;) {
    const claimed = await claimNext(db, ['service-v2'])
    if (claimed === undefined) throw new Error(`task ${taskId} is not to be had`)
    if (claimed.id === taskId) return claimed
  }
}

/** Ends a task like a worker; the test writes the bytes of the result. */
export async function succeed(
  db: Db,
  taskId: string,
  resultKey = `results/${randomBytes(8).toString('hex')}.png`,
  confidence?: number,
) {
  const claimed = await claim(db, taskId)
  const foreground = { top: 1, left: 2, width: 3, height: 4 }
  const size = { width: 40, height: 30, resultSizeBytes: 100 }
  const result = { resultKey, resultFormat: 'png', foreground, confidence, ...size }
  await finishTask(db, claimed, { status: 'succeeded', ...result })
  return resultKey
}
