// Mails of the deployed dispatcher against real servers that refuse, hang, go down and come back.
import { createServer } from 'node:net'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readMetrics } from '../e2e/support/metrics.ts'
import { useDatabase } from '../support/database.ts'
import { freePorts } from '../support/free-ports.ts'
import { until } from '../support/until.ts'
import { type DispatcherProcess, spawnDispatcher } from './dispatcher-process.ts'
import { givenDelivery, readDelivery } from './given.ts'
import { type MailServerOptions, mailEnv, startMailServer } from './mail-server.ts'
import { givenMail, lapseMailClaims, letMailsAge, readMail, secretToken } from './mails.ts'
import { startReceiver } from './receiver.ts'

const database = useDatabase()
const ends: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  await sql`truncate mail, delivery cascade`.execute(database.db)
  await writeSetting(database.db, 'webhooks.allowedTargets', ['127.0.0.1:*'])
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function givenServer(options: MailServerOptions = {}) {
  const server = await startMailServer(options)
  ends.push(() => server.close())
  return server
}

async function givenProcess(env: Record<string, string>): Promise<DispatcherProcess> {
  const dispatcher = await spawnDispatcher({ DATABASE_URL: database.url, ...env })
  ends.push(() => {
    dispatcher.kill('SIGKILL')
    return dispatcher.exited
  })
  return dispatcher
}

/** A port that accepts connections and stays silent. */
async function givenSilence(): Promise<{ readonly url: string; readonly connections: () => number }> {
  let connections = 0
  const silent = createServer((socket) => {
    connections += 1
    ends.push(async () => void socket.destroy())
  })
  const [port = 0] = await freePorts(1)
  await new Promise<void>((resolve) => silent.listen(port, '127.0.0.1', resolve))
  ends.push(() => new Promise((resolve) => silent.close(resolve)))
  return { url: `smtp://127.0.0.1:${port}`, connections: () => connections }
}

const untilStatus = (id: string, status: string) =>
  until(`the mail is ${status}`, async () => (await readMail(database.db, id)).status === status)

const untilError = (id: string, error: RegExp) =>
  until(`the mail has the error ${error}`, async () => error.test((await readMail(database.db, id)).error ?? ''))

const logOf = ({ lines }: DispatcherProcess) => JSON.stringify(lines)

/** Asserts that deliveries continue, whatever the mail server does. */
async function expectWebhookGoesOut(): Promise<void> {
  const receiver = await startReceiver()
  ends.push(() => receiver.close())
  const { taskId } = await givenDelivery(database.db, receiver.url)
  await until('the webhook is delivered', async () => (await readDelivery(database.db, taskId)).status === 'delivered')
}

it('a mail is sent once; afterwards neither address nor link is stored, and neither is ever logged', async () => {
  const server = await givenServer()
  const dispatcher = await givenProcess(mailEnv(server.url))
  const id = await givenMail(database.db, 'ada@example.com')
  const [mail] = await server.until(1)
  await untilStatus(id, 'sent')
  expect(mail).toMatchObject({ to: 'ada@example.com', messageId: `<${id}@matte.example>` })
  expect(mail?.raw).toContain(secretToken)
  expect(await readMail(database.db, id)).toMatchObject({
    to_address: null,
    data_sealed: null,
    claim: null,
    attempt: 1,
  })
  expect(logOf(dispatcher)).not.toContain('ada@example.com')
  expect(logOf(dispatcher)).not.toContain(secretToken)
  await until('it is counted', async () => {
    const metrics = await readMetrics(dispatcher)
    const sent = metrics.sum('matte_mails_ended_total', { template: 'verify-email', outcome: 'sent' })
    return sent === 1 && metrics.sum('matte_mail_waiting_age_seconds') === 0
  })
})

describe('a mail server that', () => {
  it('greylists receives the mail again a minute later and accepts it', async () => {
    const server = await givenServer({ refuseRecipient: (_, nth) => (nth === 1 ? '451 4.7.1 Later' : undefined) })
    await givenProcess(mailEnv(server.url))
    const id = await givenMail(database.db, 'ada@example.com')
    await untilError(id, /^451 4\.7\.1$/)
    const { due_at, attempt } = await readMail(database.db, id)
    expect(attempt).toBe(1)
    const { rows } = await sql<{ seconds: number }>`
      select extract(epoch from ${due_at}::timestamptz - now())::float8 as seconds`.execute(database.db)
    expect(rows[0]?.seconds).toBeGreaterThan(0)
    expect(rows[0]?.seconds).toBeLessThanOrEqual(60)
    await letMailsAge(database.db, 1)
    await untilStatus(id, 'sent')
    expect(server.received).toHaveLength(1)
  })

  it('refuses the address ends the mail; its code is recorded, the address is not', async () => {
    const server = await givenServer({ refuseRecipient: (address) => `550 5.1.1 <${address}> is unknown` })
    const dispatcher = await givenProcess(mailEnv(server.url))
    const id = await givenMail(database.db, 'nobody@example.com')
    await untilStatus(id, 'failed')
    const ended = { error: '550 5.1.1', to_address: null, data_sealed: null }
    expect(await readMail(database.db, id)).toMatchObject(ended)
    expect(logOf(dispatcher)).not.toContain('nobody@')
    const refused = { outcome: 'refused' }
    await until('it is counted', async () => {
      return (await readMetrics(dispatcher)).sum('matte_mails_ended_total', refused) === 1
    })
  })

  it('hangs after the data delays no webhook and receives the mail again under the same id', async () => {
    let hangs = true
    const server = await givenServer({ hangs: () => hangs })
    await givenProcess({ ...mailEnv(server.url), MAIL_TIMEOUT_SECONDS: '2', MAIL_CONCURRENCY: '1' })
    const id = await givenMail(database.db, 'ada@example.com')
    await server.until(1)
    await expectWebhookGoesOut()
    await untilError(id, /^TIMED_OUT$/)
    hangs = false
    await letMailsAge(database.db, 1)
    await untilStatus(id, 'sent')
    expect(new Set(server.received.map(({ messageId }) => messageId))).toEqual(new Set([`<${id}@matte.example>`]))
  })

  it('is down for an hour delays no webhook and then receives each mail once', async () => {
    const [port = 0] = await freePorts(1)
    const dispatcher = await givenProcess(mailEnv(`smtp://127.0.0.1:${port}`))
    const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => givenMail(database.db, `a${n}@example.com`)))
    const tried = () => readMetrics(dispatcher).then((read) => read.sum('matte_mail_attempts_total', unavailable))
    await until('some were tried', async () => (await tried()) >= 3)
    await expectWebhookGoesOut()
    await letMailsAge(database.db, 1)
    const waiting = await database.db.selectFrom('mail').selectAll().execute()
    expect(waiting.every(({ status, attempt }) => status === 'pending' && attempt <= 1)).toBe(true)
    await until('the lag is seen', async () => {
      return (await readMetrics(dispatcher)).sum('matte_mail_waiting_age_seconds') >= 3_600
    })
    const server = await givenServer({ port })
    for (const id of ids) await untilStatus(id, 'sent')
    expect(server.received.map(({ to }) => to).sort()).toEqual(ids.map((_, n) => `a${n}@example.com`).sort())
    // These do not count as attempts: the server was unreachable.
    expect((await database.db.selectFrom('mail').select('attempt').execute()).map((row) => row.attempt)).toEqual(
      ids.map(() => 1),
    )
  })
})

const unavailable = { outcome: 'unavailable' }

describe('a dispatcher that is killed', () => {
  it('between claim and mail leaves the mail to another dispatcher, which sends it once', async () => {
    const silence = await givenSilence()
    const killed = await givenProcess(mailEnv(silence.url))
    const id = await givenMail(database.db, 'ada@example.com')
    await until('the connection is there', () => silence.connections() === 1)
    killed.kill('SIGKILL')
    await killed.exited
    const server = await givenServer()
    await givenProcess(mailEnv(server.url))
    await lapseMailClaims(database.db)
    await untilStatus(id, 'sent')
    expect(server.received).toHaveLength(1)
    expect(await readMail(database.db, id)).toMatchObject({ attempt: 1 })
  })

  it('after the server accepted the mail causes a second one with the same id: SMTP cannot do better', async () => {
    let hangs = true
    const server = await givenServer({ hangs: () => hangs })
    const killed = await givenProcess(mailEnv(server.url))
    const id = await givenMail(database.db, 'ada@example.com')
    await server.until(1)
    killed.kill('SIGKILL')
    await killed.exited
    hangs = false
    await givenProcess(mailEnv(server.url))
    await lapseMailClaims(database.db)
    await untilStatus(id, 'sent')
    expect(server.received.map(({ messageId }) => messageId)).toEqual(Array(2).fill(`<${id}@matte.example>`))
  })

  it('by SIGTERM exits in time while the mail server hangs', async () => {
    const server = await givenServer({ hangs: () => true })
    const dispatcher = await givenProcess({ ...mailEnv(server.url), STOP_WITHIN_MS: '5000' })
    await givenMail(database.db, 'ada@example.com')
    await server.until(1)
    dispatcher.kill('SIGTERM')
    expect(await dispatcher.exited).toBe(0)
  })
})

it('two dispatchers share the mails and send nothing twice', async () => {
  const server = await givenServer()
  const ids = await Promise.all(Array.from({ length: 40 }, (_, n) => givenMail(database.db, `a${n}@example.com`)))
  await givenProcess(mailEnv(server.url))
  await givenProcess(mailEnv(server.url))
  for (const id of ids) await untilStatus(id, 'sent')
  expect(server.received).toHaveLength(40)
  expect(new Set(server.received.map(({ messageId }) => messageId)).size).toBe(40)
})

describe('without a mail server', () => {
  it('development writes the mail to the log', async () => {
    const id = await givenMail(database.db, 'ada@example.com')
    const dispatcher = await givenProcess({ MATTE_ENV: 'development' })
    await untilStatus(id, 'sent')
    const line = dispatcher.lines.find(({ to }) => to === 'ada@example.com')
    expect(line).toMatchObject({ subject: 'Confirm your address', text: expect.stringContaining(secretToken) })
  })

  it('production keeps mails queued without logging them, and gives up after three days', async () => {
    const old = await givenMail(database.db, 'ada@example.com')
    await letMailsAge(database.db, 2)
    const younger = await givenMail(database.db, 'ada@example.com')
    await letMailsAge(database.db, 71)
    const dispatcher = await givenProcess({})
    await untilStatus(old, 'failed')
    expect(await readMail(database.db, old)).toMatchObject({ error: 'EXPIRED', to_address: null, data_sealed: null })
    expect(await readMail(database.db, younger)).toMatchObject({ status: 'pending', attempt: 0 })
    expect(logOf(dispatcher)).not.toContain(secretToken)
  })
})

it('a mail that cannot be decrypted is retried, because its key may return', async () => {
  const server = await givenServer()
  const other = `other:${Buffer.alloc(32, 7).toString('base64')}`
  const keyless = await givenProcess({ ...mailEnv(server.url), MASTER_KEYS: other })
  const id = await givenMail(database.db, 'ada@example.com')
  await untilError(id, /^UNREADABLE$/)
  keyless.kill('SIGKILL')
  await keyless.exited
  await givenProcess(mailEnv(server.url))
  await letMailsAge(database.db, 1)
  await untilStatus(id, 'sent')
})
