// `matte try`: removes one background through a running API. The photo comes from standard input and its cut-out goes
// to standard output; without a photo a bundled one is taken and the result is described. For `helm test` it also
// receives the task's webhook and checks its signature. `--count 100 --at-once 4` removes so many and writes a line of
// JSON for each.
import { writeSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { connectionOf, databaseSettings } from '@matte/core/database-settings'
import { int, optionalSecret, optionalText, parseEnv, text } from '@matte/core/runtime/env'
import { runMain } from '@matte/core/runtime/main'
import { readBundledPhoto } from './bundled-photo.ts'
import { openCluster, rejectOnMissingImage } from './missing-images.ts'
import { type CutOut, call, removeBackground } from './remove-background.ts'
import { tryMany } from './try-many.ts'
import { isSignedBy, openReceiver } from './webhook-receiver.ts'

const schema = {
  origin: text('MATTE_API_ORIGIN', {
    description: 'where the API is reached from here',
    default: 'http://127.0.0.1:8080',
  }),
  apiKey: optionalSecret('MATTE_API_KEY', { description: 'key of the workspace; or --key' }),
  // Without RECEIVER_HOST nothing asks the database, and no URL is needed.
  ...databaseSettings,
  databaseUrl: optionalSecret(databaseSettings.databaseUrl.variable, { description: 'needed with RECEIVER_HOST' }),
  receiverHost: optionalText('RECEIVER_HOST', { description: 'name of this pod for the dispatcher: checks a webhook' }),
  kubeNamespace: optionalText('KUBE_NAMESPACE', {
    description: 'namespace of the release: names pods without their image',
  }),
  release: text('RELEASE', { description: 'name of the release, with KUBE_NAMESPACE', default: 'matte' }),
  receiverPort: int('RECEIVER_PORT', { description: 'port that the webhook comes to', default: 9_000, max: 65_535 }),
}

/** Settings are in force on every replica within 5 s. */
const settingsMs = 6_000
const webhookMs = 30_000

const describe = ({ taskId, png, seconds }: CutOut): string =>
  `background removed in ${seconds.toFixed(1)} s: task ${taskId}, ${png.length} bytes of PNG`

/** A pipe takes part of a large buffer at a time. */
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
    const late = pause(webhookMs, undefined, { ref: false }).then(() => Promise.reject(new Error('no webhook came')))
    const delivery = await Promise.race([receiver.delivered(made.taskId), late])
    const { signingSecret } = await call<{ signingSecret: string }>(connection, '/signing-secret')
    if (!isSignedBy(signingSecret, delivery)) throw new Error('the webhook has a wrong signature')
    process.stdout.write('webhook received, its signature is right\n')
  } finally {
    await receiver.close()
  }
}

/** Fails as soon as a pod of the release cannot pull its image, without waiting for `work`. */
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
