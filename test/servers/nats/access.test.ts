// NATS servers that require certificates, credentials files and accounts, with the settings as processes read them.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bus, openBus } from '@matte/core/bus/bus'
import { consume } from '@matte/core/bus/consume'
import { createNudge } from '@matte/core/bus/nudge'
import { publishDeadLetter } from '@matte/core/bus/publish'
import { publishSlotReport } from '@matte/core/bus/slot-report'
import { durables, streamName, subjects } from '@matte/core/bus/streams'
import { busOf, busSettings } from '@matte/core/bus-settings'
import { trustAuthorities } from '@matte/core/runtime/authorities'
import { ConfigError, parseEnv } from '@matte/core/runtime/env'
import type { Service } from '@matte/core/runtime/service'
import { rootDir } from '@matte/local/paths'
import { jetstreamManager } from '@nats-io/jetstream'
import {
  createAccount,
  createOperator,
  createUser,
  encodeAccount,
  encodeOperator,
  encodeUser,
  fmtCreds,
  type KeyPair,
} from '@nats-io/jwt'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type OwnServer, ownNats } from '../../support/servers.ts'
import { makeAuthority } from '../../support/throw-away-certificate.ts'
import { until } from '../../support/until.ts'

const dir = mkdtempSync(join(tmpdir(), 'matte-nats-access-'))
const started: Service[] = []
const servers: OwnServer[] = []

afterEach(async () => {
  for (const service of started.splice(0).reverse()) await service.stop()
})
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()))
  rmSync(dir, { recursive: true })
})

const write = (name: string, contents: string | Uint8Array): string => {
  const file = join(dir, name)
  writeFileSync(file, contents, { mode: 0o600 })
  return file
}

async function givenServer(name: string, config: string): Promise<OwnServer> {
  const server = await ownNats({ dir: join(dir, name), say: () => undefined }, { config })
  servers.push(server)
  return server
}

const settingsOf = (env: Record<string, string>) => busOf(parseEnv(busSettings, env))

/** A bus with these variables, and the warnings that it logs. */
async function open(env: Record<string, string>): Promise<Bus & { readonly warnings: string[] }> {
  const warnings: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) })
  const bus = openBus({ ...settingsOf(env), logger, name: 'test' })
  started.push(bus)
  await bus.start()
  return { ...bus, warnings }
}

const untilConnected = (bus: Bus) => until('the bus is connected', () => bus.connection())
const untilRefused = ({ warnings }: { warnings: readonly string[] }, words: RegExp) =>
  until(`the bus reports ${words}`, () => warnings.some((line) => words.test(line)))

const account = async (bus: Bus): Promise<string> => {
  const answer = await bus.connection()?.request('$SYS.REQ.USER.INFO')
  return answer?.json<{ data: { account: string } }>().data.account ?? ''
}

/** Everything that processes do with NATS. */
async function expectWorks(bus: Bus): Promise<void> {
  const connection = await untilConnected(bus)
  const heard: string[] = []
  for (const subject of [subjects.change(bus.prefix), subjects.slots(bus.prefix)]) {
    connection.subscribe(subject, { callback: (_error, message) => void heard.push(message.subject) })
  }
  const woken: string[] = []
  const logger = pino({ level: 'silent' })
  for (const durable of Object.values(durables)) {
    const consumer = consume({
      bus,
      durable: durable(bus.prefix),
      logger,
      wake: ({ subject }) => void woken.push(subject),
    })
    started.push(consumer)
    await consumer.start()
  }
  const nudge = createNudge(bus, logger)
  await until('every nudge arrives', () => {
    nudge.task('u2netp', 'a')
    nudge.delivery('b')
    nudge.fetch('c')
    nudge.change('d')
    publishSlotReport(bus, { worker: 'w', slots: new Map([['10.0.0.1:8001', 1]]) })
    return new Set([...woken, ...heard]).size === 5
  })
  await publishDeadLetter(bus, { modelVersion: 'u2netp', body: {}, id: 'dead' })
}

describe('with a client certificate', () => {
  const authority = makeAuthority()
  const other = makeAuthority()
  const server = authority.issue()
  let url: string

  const client = (name: string, { certificate, key } = authority.issue('matte')) => ({
    NATS_CERT_FILE: write(`${name}.crt`, certificate),
    NATS_KEY_FILE: write(`${name}.key`, key),
  })

  beforeAll(async () => {
    const files = {
      cert_file: write('server.crt', server.certificate),
      key_file: write('server.key', server.key),
      ca_file: write('ca.crt', authority.certificate),
    }
    const nats = await givenServer('tls', `tls { ${quoted(files)}, verify: true }`)
    url = nats.url.replace('nats://', 'tls://')
  })

  it('refuses a server of an unknown authority, and connects once the authority is trusted', async () => {
    await untilRefused(await open({ NATS_URL: url, ...client('early') }), /UNABLE_TO_VERIFY|unable to verify/)
    trustAuthorities(join(dir, 'ca.crt'))
    await expectWorks(await open({ NATS_URL: url, ...client('late') }))
  })

  it('is refused without one, and with one of another authority', async () => {
    await untilRefused(await open({ NATS_URL: url }), /certificate required|bad certificate|bus not reachable/)
    await untilRefused(
      await open({ NATS_URL: url, ...client('foreign', other.issue('matte')) }),
      /certificate|bus not reachable/,
    )
  })

  it('is replaced without a restart', async () => {
    const files = client('renewed', other.issue('matte'))
    const bus = await open({ NATS_URL: url, ...files })
    await untilRefused(bus, /bus not reachable/)
    client('renewed')
    await untilConnected(bus)
  })

  it.each([
    ['its key', { NATS_CERT_FILE: '/none' }, /set together/],
    ['tls:// URLs', { NATS_CERT_FILE: '/none', NATS_KEY_FILE: '/none', NATS_URL: 'nats://a' }, /must have tls:/],
    ['a readable file', { NATS_CERT_FILE: '/none', NATS_KEY_FILE: '/none' }, /cannot be read \(ENOENT\)/],
  ])('needs %s', (_what, env, words) => {
    const read = () => settingsOf({ NATS_URL: 'tls://a', ...env })
    expect(read).toThrow(ConfigError)
    expect(read).toThrow(words)
  })
})

describe('with accounts in operator mode', () => {
  const operator = createOperator()
  const accounts = { system: createAccount(), ours: createAccount(), theirs: createAccount() }
  let nats: OwnServer

  const creds = async (name: string, issuer: KeyPair): Promise<string> => {
    const user = createUser()
    return write(`${name}.creds`, fmtCreds(await encodeUser(name, user, issuer), user))
  }

  beforeAll(async () => {
    const limits = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1, conn: -1, data: -1, subs: -1 }
    const tokens = await Promise.all(
      Object.entries(accounts).map(async ([name, key]) => {
        const jetstream = name === 'system' ? {} : { limits: { ...limits, payload: -1, wildcards: true } }
        return `${key.getPublicKey()}: ${await encodeAccount(name, key, jetstream, { signer: operator })}`
      }),
    )
    const system = accounts.system.getPublicKey()
    nats = await givenServer(
      'operator',
      [
        `operator: ${await encodeOperator('test', operator, { system_account: system })}`,
        `system_account: ${system}`,
        'resolver: MEMORY',
        `resolver_preload { ${tokens.join(', ')} }`,
      ].join('\n'),
    )
  })

  it('does all its work with a credentials file, beside another account with the same streams', async () => {
    const bus = await open({ NATS_URL: nats.url, NATS_CREDS_FILE: await creds('ours', accounts.ours) })
    await expectWorks(bus)
    expect(await account(bus)).toBe(accounts.ours.getPublicKey())
    const neighbour = await open({ NATS_URL: nats.url, NATS_CREDS_FILE: await creds('theirs', accounts.theirs) })
    const manager = await jetstreamManager(await untilConnected(neighbour))
    await expect(manager.streams.info(streamName('matte', 'nudges'))).rejects.toThrow('stream not found')
    await expectWorks(neighbour)
  })

  it('is refused without a file, and with one of an unknown account', async () => {
    await untilRefused(await open({ NATS_URL: nats.url }), /Authorization Violation/i)
    const NATS_CREDS_FILE = await creds('unknown', createAccount())
    await untilRefused(await open({ NATS_URL: nats.url, NATS_CREDS_FILE }), /Authorization Violation/i)
  })

  it('reads a replaced file at the next connection', async () => {
    const bus = await open({ NATS_URL: nats.url, NATS_CREDS_FILE: await creds('replaced', accounts.ours) })
    await untilConnected(bus)
    await creds('replaced', accounts.theirs)
    await nats.stop()
    await nats.start()
    await until('the bus uses the new file', async () => (await account(bus)) === accounts.theirs.getPublicKey())
  })

  it('needs a credentials file', () => {
    const file = write('empty.creds', 'nothing')
    expect(() => settingsOf({ NATS_URL: 'nats://a', NATS_CREDS_FILE: file })).toThrow(/has other contents/)
  })
})

describe('with the permissions in docs/operations/nats.md', () => {
  it('does all its work, and nothing else', async () => {
    const page = readFileSync(join(rootDir, 'docs/operations/nats.md'), 'utf8')
    const [, config = ''] = /```conf\n([\s\S]*?)```/.exec(page) ?? []
    expect(config).toContain('permissions')
    const server = await givenServer('permissions', config.replace('$NATS_PASSWORD', 'secret'))
    const bus = await open({ NATS_URL: server.url.replace('//', '//matte:secret@') })
    await expectWorks(bus)
    const manager = await jetstreamManager(await untilConnected(bus))
    await expect(manager.streams.add({ name: 'others', subjects: ['others'] })).rejects.toThrow(/ermission/)
  })
})

const quoted = (files: Readonly<Record<string, string>>): string =>
  Object.entries(files)
    .map(([name, file]) => `${name}: ${JSON.stringify(file)}`)
    .join(', ')
