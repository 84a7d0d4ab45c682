// Every server has a certificate of a company's own authority: PostgreSQL, NATS (which also wants one of its client),
// the object store, Triton, the mail server. Receivers of webhooks do not profit from it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { connectTriton } from '@matte/controller/worker/triton/triton-client'
import { loadTriton } from '@matte/controller/worker/triton/triton-protocol'
import { openDatabase } from '@matte/core/db/database'
import { openBucket } from '@matte/core/storage/bucket'
import { sql } from 'kysely'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { masterKeysText } from '../dispatcher/given.ts'
import { type MailServer, startMailServer } from '../dispatcher/mail-server.ts'
import { givenMail } from '../dispatcher/mails.ts'
import { type Fake, startFake } from '../support/fake-triton.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { type OwnServer, ownNats } from '../support/servers.ts'
import { useStack } from '../support/stack.ts'
import { sharedStore } from '../support/store.ts'
import { cutOut, eventsOf } from '../support/tasks.ts'
import { makeAuthority } from '../support/throw-away-certificate.ts'
import { until } from '../support/until.ts'
import { startTlsFront, type TlsFront } from './tls-front.ts'

const authority = makeAuthority()

describe('with certificates of a private authority', () => {
  const stack = useStack({ processes: [] })
  const fronts: TlsFront[] = []
  let nats: OwnServer
  let triton: Fake
  let mails: MailServer
  let receiver: Receiver
  let secureReceiver: Server
  let env: Record<string, string>
  let received = 0

  beforeAll(async () => {
    const dir = join(inject('runDir'), 'private-authority')
    mkdirSync(dir, { recursive: true })
    const write = (name: string, contents: string): string => {
      const file = join(dir, name)
      writeFileSync(file, contents, { mode: 0o600 })
      return file
    }
    const front = async (host: string, protocol?: 'postgres' | 'grpc'): Promise<string> => {
      const started = await startTlsFront({ host, certificate: authority.issue(), ...(protocol && { protocol }) })
      fronts.push(started)
      return started.host
    }
    const [server, client] = [authority.issue(), authority.issue('matte')]
    const caFile = write('ca.crt', authority.certificate)
    const tls = {
      cert_file: write('nats.crt', server.certificate),
      key_file: write('nats.key', server.key),
      ca_file: caFile,
    }
    const config = `tls { ${Object.entries(tls)
      .map(([name, file]) => `${name}: ${JSON.stringify(file)}`)
      .join(', ')}, verify: true }`
    ;[nats, triton, mails, receiver] = await Promise.all([
      ownNats({ dir: join(dir, 'nats'), say: () => undefined }, { config }),
      startFake(),
      startMailServer({ certificate: authority.issue() }),
      startReceiver(),
    ])
    const { key, certificate } = authority.issue()
    secureReceiver = createServer({ key, cert: certificate }, (_request, response) => {
      received++
      response.end()
    }).listen(0, '127.0.0.1')
    const database = new URL(stack.env('api').DATABASE_URL ?? '')
    database.host = await front(database.host, 'postgres')
    database.search = '?sslmode=verify-full'
    const tritonAddress = await front(triton.address, 'grpc')
    env = {
      TRUSTED_CA_FILE: caFile,
      TLS_REQUIRED: 'database,nats,store',
      DATABASE_URL: database.href,
      NATS_URL: nats.url.replace('nats://', 'tls://'),
      NATS_CERT_FILE: write('client.crt', client.certificate),
      NATS_KEY_FILE: write('client.key', client.key),
      S3_ENDPOINT: `https://${await front(new URL(sharedStore().endpoint).host)}`,
      MODELS_STATIC: JSON.stringify([
        { name: 'service-v2', tritonModel: 'u2netp', addresses: [tritonAddress], default: true, tls: true },
      ]),
      SMTP_URL: `smtp://127.0.0.1:${mails.port}`,
      SMTP_TLS: 'required',
      MAIL_FROM: 'Matte <no-reply@matte.example>',
    }
  })
  afterAll(async () => {
    for (const front of fronts) front.close()
    secureReceiver?.close()
    await Promise.all([nats?.stop(), triton?.kill(), mails?.close(), receiver?.close()])
  })

  it('refuses every server whose authority it does not trust', async () => {
    const logger = pino({ level: 'silent' })
    for (const mode of ['require', 'verify-ca', 'verify-full']) {
      const url = (env.DATABASE_URL ?? '').replace('verify-full', mode)
      const database = openDatabase({ url, poolMax: 1, applicationName: 'test', logger })
      await expect(sql`select 1`.execute(database.db), mode).rejects.toThrow(/unable to verify|self-signed/)
      await database.stop()
    }
    const { accessKeyId, secretAccessKey } = sharedStore()
    const bucket = openBucket({
      ...{ internalEndpoint: env.S3_ENDPOINT ?? '', publicEndpoint: env.S3_ENDPOINT ?? '', region: 'us-east-1' },
      ...{ bucket: stack.bucket.name, accessKeyId, secretAccessKey },
    })
    expect(await bucket.probe(2_000)).toBe(false)
    bucket.close()
    const [{ addresses }] = JSON.parse(env.MODELS_STATIC ?? '') as [{ addresses: [string] }]
    const client = connectTriton(loadTriton(), addresses[0], { tls: true })
    expect(await client.isReady('u2netp')).not.toBe('ready')
    client.close()
  })

  it('processes a task, with nudges, webhook and mail', async () => {
    await stack.start('api', env)
    const withoutMode = new URL(env.DATABASE_URL ?? '')
    withoutMode.search = ''
    await stack.start('worker', { ...env, DATABASE_URL: withoutMode.href, PGSSLMODE: 'verify-full' })
    const keys = `${stack.env('dispatcher').MASTER_KEYS},${masterKeysText}`
    const dispatcher = await stack.start('dispatcher', { ...env, MASTER_KEYS: keys })
    for (const name of ['api', 'worker', 'dispatcher'] as const) await stack.process(name).untilLogged('bus connected')
    const { id } = await cutOut(stack.client, { callbackUrl: receiver.url })
    await until('the webhook arrives', () => eventsOf(receiver, id).length > 0)
    await givenMail(stack.db, 'someone@example.com')
    const [mail] = await mails.until(1)
    expect(mail?.isEncrypted).toBe(true)

    const { port } = secureReceiver.address() as AddressInfo
    await cutOut(stack.client, { callbackUrl: `https://127.0.0.1:${port}/hook` })
    const line = await dispatcher.untilLogged('delivery attempted', (one) => one.target_host === `127.0.0.1:${port}`)
    expect(line.outcome).toBe('TLS_FAILED')
    expect(received).toBe(0)
  })
})
