// Values of the App API reach the processes: their own settings readers parse the rendered environment.
import { configSchema, readConfig as readApi } from '@matte/api/config'
import { readConfig as readWorker } from '@matte/controller/config'
import { operatorSchema, readOperatorConfig } from '@matte/controller/operator-config'
import { schema as dispatcherSchema, readConfig as readDispatcher } from '@matte/dispatcher/config'
import { beforeAll, describe, expect, it } from 'vitest'
import { findMissing, render } from './helm.ts'
import type { Manifest } from './manifest.ts'
import { production } from './production-values.ts'

/** Contents of the Secrets named in the values. */
const secrets: Readonly<Record<string, string>> = {
  DATABASE_URL: 'postgresql://matte:secret@database/matte',
  DATABASE_DIRECT_URL: 'postgresql://matte:secret@direct/matte',
  NATS_URL: 'nats://token@nats',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: 'secret',
  OPERATOR_TOKEN: 'f'.repeat(64),
  MASTER_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
  SMTP_URL: 'smtp://user:password@mail.example.com',
  STRIPE_SECRET_KEY: 'rk_live_secret',
  STRIPE_WEBHOOK_SECRET: 'whsec_secret',
}

const pack = { id: 'small', name: 'Small', credits: 100, amount: 900, currency: 'EUR', expiresAfterDays: 365 }
const price = { plan: 'pro', interval: 'year', amount: 29_000, currency: 'EUR' }

const values = {
  publicUrl: 'https://matte.example.com',
  database: { pooler: 'transaction', directSecret: { name: 'direct' } },
  mail: {
    ...{ existingSecret: { name: 'mail' }, from: 'Matte <no-reply@example.com>', tls: 'opportunistic' },
    ...{ concurrency: 7, perMinute: 90 },
  },
  accounts: {
    ...{ appUrl: 'https://app.example.com', supportUrl: 'mailto:help@example.com', registration: 'open' },
    firstPlan: 'internal',
    verificationMailsPerMinute: 30,
    sessionIdleHours: 12,
  },
  payments: {
    ...{ provider: 'stripe', stripe: { existingSecret: { name: 'stripe' } }, selfRefundDays: 0 },
    ...{ packs: [pack], planPrices: [price], seller: { name: 'Example Ltd', addressLines: ['1 Main Street'] } },
  },
  referral: { rewardCredits: 25, autoApprove: true },
  audit: { retentionDays: 90 },
  retention: { defaultSeconds: 86_400 },
  api: {
    passwordHashesMax: 4,
    streamsMax: 200,
    webhookStreamsMax: 40,
    webhookStreamKeptMinutes: 15,
    hstsMaxAgeSeconds: 300,
  },
  console: { enabled: false },
  dispatcher: { egressAddresses: ['203.0.113.7', '2001:db8::/64'] },
}

type Env = Readonly<Record<string, string>>

async function renderEnv(process: string, given: object): Promise<Env> {
  const { manifests, refusal } = await render(given)
  expect(refusal).toBe('')
  const owner = manifests.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith(`-${process}`))
  const rendered = owner?.spec?.template?.spec.containers[0]?.env ?? []
  expect(rendered.length).toBeGreaterThan(5)
  const names = rendered.map(({ name }) => name)
  expect(new Set(names).size, 'no variable twice').toBe(names.length)
  return Object.fromEntries(rendered.map(({ name, value }) => [name, value ?? secrets[name] ?? '']))
}

const item = (key: string) => ({ key, path: 'MASTER_KEYS' })

const known = (schema: Readonly<Record<string, { readonly variable: string }>>): readonly string[] =>
  Object.values(schema).map(({ variable }) => variable)

describe.skipIf(findMissing('helm'))('settings of the App API', () => {
  let api: Env
  let dispatcher: Env
  beforeAll(async () => {
    api = await renderEnv('api', values)
    dispatcher = await renderEnv('dispatcher', values)
  })

  it('have known names', () => {
    expect(Object.keys(api).filter((name) => !known(configSchema).includes(name))).toEqual([])
    expect(Object.keys(dispatcher).filter((name) => !known(dispatcherSchema).includes(name))).toEqual([])
  })

  it('reach the API', () => {
    expect(readApi(api)).toMatchObject({
      ...{ appUrl: 'https://app.example.com', mailEnabled: true, registration: 'open', firstPlan: 'internal' },
      ...{ webhookStreamsMax: 40, webhookStreamKeptMinutes: 15, hstsMaxAgeSeconds: 300 },
      ...{ passwordHashesMax: 4, streamsMax: 200, referralRewardCredits: 25, environment: 'production' },
      ...{
        auditRetentionDays: 90,
        defaultRetentionSeconds: 86_400,
        consoleEnabled: false,
        operatorToken: 'f'.repeat(64),
      },
      verificationMailsPerMinute: 30,
      sessionIdleHours: 12,
      webhookEgressAddresses: ['203.0.113.7', '2001:db8::/64'],
      ...{ databasePooler: 'transaction', databaseDirectUrl: 'postgresql://matte:secret@direct/matte' },
      ...{ paymentsProvider: 'stripe', stripeSecretKey: 'rk_live_secret', stripeWebhookSecret: 'whsec_secret' },
      ...{ creditPacks: [pack], planPrices: [price], invoiceSeller: { name: 'Example Ltd' } },
      paymentsSelfRefundDays: 0,
    })
  })

  it('use the identity of the pods for the store, with results through the API', async () => {
    const endpoint = 'https://s3.example.com'
    const given = { ...values, objectStore: { builtIn: false, endpoint, credentials: 'ambient' } }
    const ambient = { s3Credentials: 'ambient', s3AccessKeyId: '', s3SecretAccessKey: '' }
    expect(readApi(await renderEnv('api', given))).toMatchObject({ ...ambient, resultsDelivery: 'gateway' })
    expect(readWorker(await renderEnv('worker', given))).toMatchObject(ambient)
  })

  it('send results through the API when asked, and by links of the store by default', async () => {
    const given = { ...values, results: { delivery: 'gateway' } }
    expect(readApi(await renderEnv('api', given)).resultsDelivery).toBe('gateway')
    expect(readApi(api).resultsDelivery).toBe('presign')
  })

  it('open uploads by URL in both processes, and in neither by default', async () => {
    const given = { ...values, uploads: { fetchUrls: true } }
    expect(readApi(await renderEnv('api', given)).uploadsFetchUrls).toBe(true)
    expect(readDispatcher(await renderEnv('dispatcher', given)).uploadsFetchUrls).toBe(true)
    expect([readApi(api).uploadsFetchUrls, readDispatcher(dispatcher).uploadsFetchUrls]).toEqual([false, false])
  })

  it('sign the length of uploads by default, and not for a store that refuses it', async () => {
    expect(readApi(api).uploadsSignContentLength).toBe(true)
    const given = { ...values, uploads: { signContentLength: false } }
    expect(readApi(await renderEnv('api', given)).uploadsSignContentLength).toBe(false)
  })

  it('name models for types of remove.bg, and none by default', async () => {
    const given = { ...values, doors: { removebg: { models: { car: 'matte-car' } } } }
    expect(readApi(await renderEnv('api', given)).doorsRemovebgModels).toEqual({ car: 'matte-car' })
    expect(readApi(api).doorsRemovebgModels).toEqual({})
  })

  it('reach the worker', async () => {
    expect(readWorker(await renderEnv('worker', values))).toMatchObject({
      ...{ auditRetentionDays: 90, defaultRetentionSeconds: 86_400, tritonPools: true },
      plans: { internal: { defaultRetentionSeconds: 86_400 } },
    })
  })

  it('reach NATS in every process: copies, files and a private authority', async () => {
    const nats = {
      ...{ builtIn: false, existingSecret: { name: 'nats' }, replicas: 3 },
      ...{ credsSecret: { name: 'creds' }, certificateSecret: { name: 'certificate' } },
    }
    const given = { ...values, nats, trustedAuthorities: { secret: 'authorities', key: 'root.pem' } }
    const expected = {
      ...{ natsReplicas: 3, natsCredsFile: '/etc/matte/nats-creds/user.creds' },
      ...{ natsCertFile: '/etc/matte/nats-certificate/tls.crt', natsKeyFile: '/etc/matte/nats-certificate/tls.key' },
      trustedCaFile: '/etc/matte/authorities/ca.crt',
    }
    expect(readApi(await renderEnv('api', given))).toMatchObject(expected)
    expect(readWorker(await renderEnv('worker', given))).toMatchObject(expected)
    expect(readOperatorConfig(await renderEnv('operator', given))).toMatchObject(expected)
    expect(readDispatcher(await renderEnv('dispatcher', given))).toMatchObject(expected)
    const none = { natsCredsFile: undefined, natsCertFile: undefined, trustedCaFile: undefined }
    expect(readApi(api)).toMatchObject({ natsReplicas: 1, ...none })
  })

  it('pass the release to worker and operator, and the ConfigMap of its pools to the operator', async () => {
    const second = { ...values, fullnameOverride: 'second', operator: { unlabelledPools: false } }
    const named = { poolRelease: 'second', unlabelledPools: false }
    expect(readWorker(await renderEnv('worker', second))).toMatchObject(named)
    expect(readOperatorConfig(await renderEnv('operator', second))).toMatchObject({
      ...named,
      poolsConfigMap: 'second-pools',
    })
  })

  it('reach the operator, without credentials of the object store', async () => {
    const operator = {
      concurrentRollouts: 5,
      podServiceAccounts: ['models-reader', 'other'],
      podPriorityClasses: ['serving'],
    }
    const changed = { controller: { podPatch: 'any' }, setUserIds: false, operator }
    const env = await renderEnv('operator', { ...values, ...changed })
    expect(readOperatorConfig(env)).toMatchObject({
      ...{ podPatch: 'any', podUserIds: false, concurrentRollouts: 5, databasePooler: 'transaction' },
      podServiceAccounts: ['models-reader', 'other'],
      podPriorityClasses: ['serving'],
    })
    const unknown = Object.keys(env).filter((name) => !known(operatorSchema).includes(name))
    expect(unknown).toEqual(['MATTE_ENV'])
    expect(readOperatorConfig(await renderEnv('operator', values)).podServiceAccounts).toEqual([])
  })

  it('reach the dispatcher', () => {
    expect(readDispatcher(dispatcher)).toMatchObject({
      ...{ appUrl: 'https://app.example.com', mailConcurrency: 7, mailsPerMinute: 90, referralRewardCredits: 25 },
      ...{ supportUrl: 'mailto:help@example.com', referralAutoApprove: true },
      mailServer: { host: 'mail.example.com', tls: 'opportunistic', from: { address: 'no-reply@example.com' } },
      ...{ paymentsProvider: 'stripe', creditPacks: [pack], planPrices: [price] },
    })
  })

  it('are safe by default: no mail, registration by invitation, no payments', async () => {
    const plain = readApi(await renderEnv('api', {}))
    expect(plain).toMatchObject({
      mailEnabled: false,
      registration: 'invite',
      appUrl: 'http://localhost:8080',
    })
    expect(plain).toMatchObject({ paymentsProvider: undefined, paymentsSelfRefundDays: 14 })
    const sender = readDispatcher(await renderEnv('dispatcher', {}))
    expect(sender.mailServer).toBeUndefined()
    expect(sender.paymentsProvider).toBeUndefined()
  })

  it('make every process of production refuse URLs without TLS, except those that insecure lists', async () => {
    const url = { database: 'postgresql://u:p@db/matte?sslmode=verify-full', nats: 'tls://u:p@nats' }
    const secure = { DATABASE_URL: url.database, DATABASE_DIRECT_URL: url.database, NATS_URL: url.nats }
    const readers = { api: readApi, worker: readWorker, operator: readOperatorConfig, dispatcher: readDispatcher }
    for (const [process, read] of Object.entries(readers)) {
      const plain = await renderEnv(process, production)
      expect(() => read(plain), process).toThrow(
        /DATABASE_URL has no TLS: add sslmode=verify-full[\s\S]*NATS_URL has no TLS/,
      )
      expect(() => read({ ...plain, ...secure }), process).not.toThrow()
      const allowed = await renderEnv(process, { ...production, insecure: ['nats', 'database'] })
      expect(() => read(allowed), process).not.toThrow()
      expect(allowed.TLS_REQUIRED).toBe('store')
      expect((await renderEnv(process, {})).TLS_REQUIRED).toBeUndefined()
    }
    const { manifests } = await render(production)
    for (const each of ['setup', 'test']) {
      const named = (name: string): boolean => name === `matte-${each}` || name.startsWith(`matte-${each}-`)
      const pods = manifests.filter(({ kind, metadata }) => ['Job', 'Pod'].includes(kind) && named(metadata.name))
      expect(JSON.stringify(pods), each).toContain('{"name":"TLS_REQUIRED","value":"database,nats,store"}')
    }
  })

  it('read the master keys from a file of the Secret or of a driver, in the processes that use them', async () => {
    const csi = { csi: { driver: 'secrets-store.csi.k8s.io', readOnly: true } }
    const cases = [
      [
        { file: { enabled: true } },
        'MASTER_KEYS',
        { secret: { secretName: 'matte-secrets', items: [item('MASTER_KEYS')] } },
      ],
      [
        { existingSecret: { name: 'keys', key: 'list' }, file: { enabled: true } },
        'MASTER_KEYS',
        { secret: { secretName: 'keys', items: [item('list')] } },
      ],
      [{ file: { enabled: true, volume: csi, name: 'keys.txt' } }, 'keys.txt', csi],
    ] as const
    for (const [masterKeys, file, source] of cases) {
      const { manifests } = await render({ masterKeys })
      const using = manifests.filter((each) => JSON.stringify(each).includes('/etc/matte/master-keys'))
      expect(using.map(({ metadata }) => metadata.name).sort()).toEqual(['matte-api', 'matte-dispatcher'])
      for (const { spec } of using as readonly Manifest[]) {
        const pod = spec?.template?.spec
        const path = { name: 'MASTER_KEYS_FILE', value: `/etc/matte/master-keys/${file}` }
        expect(pod?.containers[0]?.env).toContainEqual(path)
        expect(pod?.containers[0]?.env?.map(({ name }) => name)).not.toContain('MASTER_KEYS')
        expect(pod?.containers[0]?.volumeMounts).toContainEqual({
          ...{ name: 'master-keys', mountPath: '/etc/matte/master-keys', readOnly: true },
        })
        expect(pod?.volumes).toContainEqual({ name: 'master-keys', ...source })
      }
    }
  })
})
