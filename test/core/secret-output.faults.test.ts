// No process prints a secret. Each starts with unusual secrets in every setting that takes one, with available and
// unavailable servers and invalid settings, and its whole output is searched.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { configSchema as apiSchema } from '@matte/api/config'
import { schema as workerSchema } from '@matte/controller/config'
import { operatorSchema } from '@matte/controller/operator-config'
import { schema as dispatcherSchema } from '@matte/dispatcher/config'
import { describe, expect, inject, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { freePorts, nodeEnv } from '../support/free-ports.ts'
import { until } from '../support/until.ts'

const database = useDatabase()

const mains = {
  api: fileURLToPath(import.meta.resolve('@matte/api/main')),
  worker: fileURLToPath(import.meta.resolve('@matte/controller/main')),
  operator: fileURLToPath(import.meta.resolve('@matte/controller/main')),
  dispatcher: fileURLToPath(import.meta.resolve('@matte/dispatcher/main')),
  admin: fileURLToPath(import.meta.resolve('@matte/api/admin/main')),
} as const
type Name = keyof typeof mains
const services = ['api', 'worker', 'dispatcher'] as const
const commands: Partial<Record<Name, readonly string[]>> = {
  worker: ['worker'],
  operator: ['operator'],
  admin: ['sweep'],
}

/** Search text: letters and digits, which no URL encoding changes. */
const cores: string[] = []
const newCore = (): string => {
  const core = `zq${crypto.randomUUID().replaceAll('-', '').slice(0, 14)}`
  cores.push(core)
  return core
}
/** A secret with every character that is special in URLs, shells, JSON or log formats. */
const odd = (): string => `${newCore()}@:/?#[]%25%zz$&"'\\ ,;=+${newCore()}`
const encoded = (): string => encodeURIComponent(odd())

/** All forms of the text in an output; its base64 form depends on the preceding bytes. */
function formsOf(text: string): string[] {
  const base64 = [0, 1, 2].map((before) => {
    const whole = Buffer.from(`${' '.repeat(before)}${text}`).toString('base64url')
    return whole.slice(4, -4)
  })
  return [text, Buffer.from(text).toString('hex'), ...base64]
}

function expectNoSecret(output: string): void {
  const lines = output.split('\n')
  const found = cores.flatMap(formsOf).flatMap((form) => lines.filter((line) => line.includes(form)))
  expect([...new Set(found)]).toEqual([])
}

type Env = Record<string, string>

/** Settings of all processes that may hold a secret: those of kind secret, and URLs. */
const masterKey = () => {
  const core = newCore()
  const bytes = Buffer.alloc(32, 0)
  bytes.write(core)
  cores.push(bytes.toString('base64').slice(0, 20), JSON.stringify([...bytes.subarray(0, 8)]).slice(1, -1))
  return `k:${bytes.toString('base64')}`
}
const secrets = (): Env => ({
  DATABASE_URL: `postgresql://${encoded()}:${encoded()}@127.0.0.1:1/matte?options=${encoded()}`,
  NATS_URL: `nats://u:${encoded()}@127.0.0.1:1,nats://${encoded()}@127.0.0.1:1,nats://v:a@${newCore()}@127.0.0.1:1`,
  S3_ACCESS_KEY_ID: odd(),
  S3_SECRET_ACCESS_KEY: odd(),
  S3_SESSION_TOKEN: odd(),
  MASTER_KEYS: masterKey(),
  OTEL_EXPORTER_OTLP_ENDPOINT: `http://u:${encoded()}@127.0.0.1:1/${newCore()}`,
  OTEL_EXPORTER_OTLP_HEADERS: `authorization=${encoded()}`,
})

async function environment(more: Env): Promise<Env> {
  const [port = 0, healthPort = 0] = await freePorts(2)
  return {
    HOST: '127.0.0.1',
    PORT: String(port),
    HEALTH_PORT: String(healthPort),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    S3_ENDPOINT: 'http://127.0.0.1:1',
    MODELS_STATIC: '[{"name":"service-v2","tritonModel":"u2netp","addresses":["127.0.0.1:1"],"default":true}]',
    LOG_LEVEL: 'trace',
    STOP_WITHIN_MS: '2000',
    DRAIN_MS: '0',
    ...more,
  }
}

/** Complete output of the process, which is stopped once `seen` accepts it. */
async function outputOf(name: Name, env: Env, seen: (output: string) => boolean = () => false): Promise<string> {
  const child = spawn(process.execPath, [mains[name], ...(commands[name] ?? [])], { env: { ...nodeEnv(), ...env } })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes: Buffer) => {
      output += bytes.toString()
    })
  }
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const stopped = until(`the ${name} has said what it should, or has ended`, () => {
    return child.exitCode !== null || seen(output)
  })
  await stopped.finally(() => child.kill('SIGTERM'))
  await ended
  expect(output).not.toBe('')
  return output
}

describe.each(services)('the %s', (name) => {
  it('prints no secret in normal operation', { timeout: 60_000 }, async () => {
    const { DATABASE_URL: _, ...others } = secrets()
    const env = await environment({
      ...others,
      DATABASE_URL: database.url,
      NATS_URL: inject('natsUrl').replace('//', `//u:${encoded()}@`),
      S3_ENDPOINT: inject('storeEndpoint'),
    })
    const output = await outputOf(
      name,
      env,
      (text) => text.includes('process started') && text.includes('bus connected'),
    )
    expect(output).toContain('bus connected')
    expectNoSecret(output)
  })

  it('prints no secret while its servers are unavailable', { timeout: 60_000 }, async () => {
    const output = await outputOf(name, await environment(secrets()), (text) => text.includes('not reachable yet'))
    expectNoSecret(output)
  })

  it.each(['DATABASE_URL', 'NATS_URL', 'S3_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'MASTER_KEYS', 'PUBLIC_URL'])(
    'prints no secret when %s cannot be read',
    { timeout: 60_000 },
    async (variable) => {
      for (const wrong of [`http://u:${odd()}@127.0.0.1:1`, odd()]) {
        const env = await environment({ ...secrets(), DATABASE_URL: database.url, [variable]: wrong })
        const output = await outputOf(name, env, (text) => /process started|not reachable/.test(text))
        expectNoSecret(output)
      }
    },
  )

  it('prints no secret when its configuration is rejected', async () => {
    const env = await environment({
      ...secrets(),
      LOG_LEVEL: odd(),
      HEALTH_PORT: odd(),
      MODELS_STATIC: odd(),
      PLANS: odd(),
    })
    const output = await outputOf(name, env)
    expect(output).toContain('HEALTH_PORT')
    expectNoSecret(output)
  })
})

describe('matte-admin', () => {
  it('prints no secret while its servers are unavailable', { timeout: 60_000 }, async () => {
    for (const more of [{}, { DATABASE_URL: database.url }]) {
      expectNoSecret(await outputOf('admin', { ...(await environment(secrets())), ...more }))
    }
  })

  it.each(['DATABASE_URL', 'S3_ENDPOINT', 'MAX_QUEUE_AGE_SECONDS', 'PLANS'])(
    'prints no secret when %s cannot be read',
    { timeout: 60_000 },
    async (variable) => {
      for (const wrong of [odd(), `http://u:${odd()}@127.0.0.1:1`]) {
        const env = await environment({ ...secrets(), DATABASE_URL: database.url, [variable]: wrong })
        expectNoSecret(await outputOf('admin', env))
      }
    },
  )
})

describe('a setting', () => {
  it.each([
    ['api', apiSchema],
    ['worker', workerSchema],
    ['operator', operatorSchema],
    ['dispatcher', dispatcherSchema],
  ])('of the %s that may hold a secret has the kind secret', (_name, schema) => {
    const names = Object.keys(secrets()).filter((name) => name !== 'OTEL_EXPORTER_OTLP_HEADERS')
    const settings = Object.values(schema).filter(({ variable }) => names.includes(variable))
    expect(settings.filter(({ kind }) => kind !== 'secret').map(({ variable }) => variable)).toEqual([])
  })
})
