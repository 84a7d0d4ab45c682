// The fake Triton as a program: it accepts Triton's flags, rejects unknown ones, and stops like Triton. FAKE_…
// variables, or POST /fake on its HTTP port, configure faults.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { FakeModel } from '../../support/fake-model.ts'
import { type Behaviour, startFake } from '../../support/fake-triton.ts'

/** Flags with an effect; other flags of Triton are accepted and ignored. */
const own = {
  'model-repository': { type: 'string', multiple: true },
  'model-store': { type: 'string', multiple: true },
  'load-model': { type: 'string', multiple: true },
  'exit-on-error': { type: 'string', default: 'true' },
  'exit-timeout-secs': { type: 'string', default: '30' },
  'http-address': { type: 'string', default: '0.0.0.0' },
  'http-port': { type: 'string', default: '8000' },
  'grpc-port': { type: 'string', default: '8001' },
  'metrics-port': { type: 'string', default: '8002' },
  'grpc-restricted-protocol': { type: 'string' },
  'grpc-keepalive-time': { type: 'string' },
  'grpc-keepalive-timeout': { type: 'string' },
} as const

const ignored =
  'allow-cpu-metrics allow-gpu-metrics allow-grpc allow-http allow-metrics backend-config backend-directory ' +
  'cache-config grpc-address grpc-http2-max-ping-strikes grpc-http2-max-pings-without-data ' +
  'grpc-http2-min-recv-ping-interval-without-data grpc-infer-allocation-pool-size grpc-infer-thread-count ' +
  'grpc-keepalive-permit-without-calls grpc-max-connection-age http-restricted-api http-thread-count id log-error ' +
  'log-file log-format log-info log-verbose log-warning metrics-address metrics-config metrics-interval-ms ' +
  'model-config-name model-control-mode model-load-gpu-limit model-load-retry-count model-load-thread-count ' +
  'pinned-memory-pool-byte-size rate-limit response-cache-byte-size strict-model-config strict-readiness trace-config'

const withoutEffect: object = Object.fromEntries(
  ignored.split(' ').map((name) => [name, { type: 'string', multiple: true }]),
)
/** Triton's flags without a value. */
const switches: object = { 'disable-auto-complete-config': { type: 'boolean' } }
const { values: flags } = parseArgs({ options: { ...own, ...withoutEffect, ...switches } })
const say = (event: string, more: object = {}): void =>
  void process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), event, ...more })}\n`)
const number = (name: string, otherwise: number): number => Number(process.env[`FAKE_${name}`] || otherwise)
const isOn = (name: string): boolean => process.env[`FAKE_${name}`] === 'true'

const repositories = [...(flags['model-repository'] ?? []), ...(flags['model-store'] ?? [])]
// Searches the model repositories; without a local one, as with S3, every model exists.
const local = repositories.filter((path) => existsSync(path))
const isFound = (name: string): boolean => local.length === 0 || local.some((path) => existsSync(join(path, name)))

function toModel(name: string): FakeModel {
  const wanted = process.env.FAKE_FAIL_MODEL === name ? 'fake: told not to load it' : undefined
  const missing = isFound(name) ? undefined : `failed to poll from model repository: no folder '${name}'`
  const failure = wanted ?? missing
  const preferredBatch = number('PREFERRED_BATCH', 0)
  return {
    name,
    inputSize: number('INPUT_SIZE', 320),
    instances: number('INSTANCES', 1),
    ...(preferredBatch > 0 && { preferredBatch }),
    ...(failure !== undefined && { failure }),
  }
}

const behaviour: Partial<Behaviour> = {
  serviceMs: number('SERVICE_MS', 20),
  errorRate: number('ERROR_RATE', 0),
  stalls: isOn('STALLS'),
  hasWrongShapes: isOn('WRONG_SHAPES'),
}

/** `…:key=value`, as in Triton; the last one applies. */
function adminHeader() {
  const [, name, value] = /:([^:=]+)=([^=]*)$/.exec(flags['grpc-restricted-protocol'] ?? '') ?? []
  return name === undefined || value === undefined ? undefined : { name, value }
}

const stopped = Promise.withResolvers<void>()
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => stopped.resolve())

const models = (flags['load-model'] ?? []).map(toModel)
// Like Triton, opens its ports once its models are loaded.
await Promise.race([pause(number('START_MS', 0)), stopped.promise])
const failed = models.filter(({ failure }) => failure !== undefined)
if (failed.length > 0 && flags['exit-on-error'] === 'true') {
  say('error: creating server: failed to load all models', { failed })
  process.exit(1)
}
const header = adminHeader()
const fake = await startFake({
  models,
  behaviour,
  host: flags['http-address'],
  ports: {
    grpc: Number(flags['grpc-port']),
    http: Number(flags['http-port']),
    metrics: Number(flags['metrics-port']),
  },
  exitTimeoutMs: Number(flags['exit-timeout-secs']) * 1_000,
  stopping: process.env.FAKE_STOPPING === 'serve' ? 'serve' : 'refuse',
  keepalive: {
    'grpc.keepalive_time_ms': Number(flags['grpc-keepalive-time'] ?? 7_200_000),
    'grpc.keepalive_timeout_ms': Number(flags['grpc-keepalive-timeout'] ?? 20_000),
  },
  ...(header && { adminHeader: header }),
})
say('started', { address: fake.address, models, behaviour })
await stopped.promise
say('Signal (15) received.', fake.counts())
await fake.stop()
say('stopped', fake.counts())
process.exit(0)
