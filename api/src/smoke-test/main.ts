// `matte try`: removes one background through a running API, from standard input to standard output, or from a bundled
// photo. For `helm test` it also receives the webhook and verifies its signature. `--count 100 --at-once 4` removes
// many and writes a JSON line for each.
import { writeSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { connectionOf, databaseSettings } from '@matte/core/database-settings'
import { checkTls, tlsSettings } from '@matte/core/required-tls'
import { authoritySettings, trustAuthorities } from '@matte/core/runtime/authorities'
import { int, optionalSecret, optionalText, parseEnv, text } from '@matte/core/runtime/env'
import { runMain } from '@matte/core/runtime/main'
import { openCluster, rejectOnMissingImage } from './missing-images.ts'
import { type CutOut, call, readBundledPhoto, removeBackground, tryMany } from './remove-background.ts'
import { isSignedBy, openReceiver } from './webhook-receiver.ts'

const schema = {
  origin: text('MATTE_API_ORIGIN', {
    description: 'origin of the API as reached from here',
    default: 'http://127.0.0.1:8080',
  }),
  apiKey: optionalSecret('MATTE_API_KEY', { description: 'key of the workspace; or --key' }),
  ...databaseSettings,
  ...authoritySettings,
  ...tlsSettings,
  databaseUrl: optionalSecret(databaseSettings.databaseUrl.variable, { description: 'needed with RECEIVER_HOST' }),
  receiverHost: optionalText('RECEIVER_HOST', {
    description: 'host under which the dispatcher reaches this pod: also checks a webhook',
  }),
  kubeNamespace: optionalText('KUBE_NAMESPACE', {
    description: 'namespace of the release: reports pods that cannot pull their image',
  }),
  release: text('RELEASE', { description: 'name of the release, with KUBE_NAMESPACE', default: 'matte' }),
  receiverPort: int('RECEIVER_PORT', { description: 'port of the webhook receiver', default: 9_000, max: 65_535 }),
}

/** Settings take effect within 5 s. */
const settingsMs = 6_000
const webhookMs = 30_000

const describe = ({ taskId, png, seconds }: CutOut): string =>
  `background removed in ${seconds.toFixed(1)} s: task ${taskId}, ${png.length} bytes of PNG`

/** A pipe accepts part of a large buffer at a time. */
function writeAll(bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
    }
  }
}

type Connection = Parameters<typeof removeBackground>[0]

async function tryWithWebhook(connection: Connection, options: Parameters<typeof openReceiver>[0]): Promise<void> {
  const receiver = await openReceiver(options)
  try {
    await pause(settingsMs)
    const made = await removeBackground(connection, readBundledPhoto(), { callbackUrl: receiver.url })
    process.stdout.write(`${describe(made)}\n`)
    const late = pause(webhookMs, undefined, { ref: false }).then(() => Promise.reject(new Error('no webhook arrived')))
    const delivery = await Promise.race([receiver.delivered(made.taskId), late])
    const { signingSecret } = await call<{ signingSecret: string }>(connection, '/signing-secret')
    if (!isSignedBy(signingSecret, delivery)) throw new Error('the webhook has an invalid signature')
    process.stdout.write('webhook received, its signature is valid\n')
  } finally {
    await receiver.close()
  }
}

/** Rejects as soon as a pod of the release cannot pull its image. */
async function whileImagesAreFound<T>(namespace: string, release: string, work: Promise<T>): Promise<T> {
  const ended = new AbortController()
  const warn = (text: string): void => void process.stderr.write(`${text}\n`)
  const missing = openCluster(namespace).then((cluster) =>
    rejectOnMissingImage(cluster, { release, signal: ended.signal, warn }),
  )
  try {
    return await Promise.race([work, missing])
  } finally {
    ended.abort()
    missing.catch(() => {})
  }
}

await runMain(async () => {
  const config = parseEnv(schema, process.env)
  checkTls(config)
  trustAuthorities(config.trustedCaFile)
  const { values } = parseArgs({
    options: {
      key: { type: 'string', default: config.apiKey ?? '' },
      count: { type: 'string', default: '1' },
      'at-once': { type: 'string', default: '4' },
    },
  })
  if (values.key === '') throw new Error('matte try: give the API key with --key or in MATTE_API_KEY')
  const connection = { origin: config.origin, apiKey: values.key }
  const { receiverHost: host, databaseUrl } = config
  if (host !== undefined && databaseUrl !== undefined) {
    const database = connectionOf({ ...config, databaseUrl })
    const work = tryWithWebhook(connection, { host, port: config.receiverPort, database })
    await (config.kubeNamespace ? whileImagesAreFound(config.kubeNamespace, config.release, work) : work)
    return
  }
  if (values.count !== '1') {
    await tryMany(connection, { count: Number(values.count), atOnce: Number(values['at-once']) })
    return
  }
  const given = process.stdin.isTTY ? Buffer.alloc(0) : await buffer(process.stdin)
  const made = await removeBackground(connection, given.length > 0 ? given : readBundledPhoto())
  if (given.length > 0) writeAll(made.png)
  process.stderr.write(`${describe(made)}\n`)
})
