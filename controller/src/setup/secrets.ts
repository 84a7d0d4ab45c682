// Passwords of an installation: generated once and never changed. A later version adds new ones.
import { randomBytes } from 'node:crypto'
import { roleName } from '@matte/core/db/roles/role-statements'
import { processRoles } from '@matte/core/db/roles/table-rights'
import { generateApiKey } from '@matte/core/workspace/api-key'
import type { Logger } from 'pino'
import type { KubeClient, Resource } from '../operator/kube/client.ts'
import type { KubeObject } from '../operator/kube/objects.ts'

type Secret = KubeObject & { readonly data?: Readonly<Record<string, string>>; readonly type?: string }

const secrets: Resource<Secret> = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret' }

type SecretOptions = { readonly secretName: string; readonly databaseHost: string; readonly natsHost: string }

/** Creates the Secret, or adds missing keys. One of two concurrent runs gets 409 and is retried. */
export async function ensureSecret(kube: KubeClient, options: SecretOptions, logger: Logger): Promise<void> {
  const { secretName: name } = options
  const found = await kube.get(secrets, name)
  const known = decode(found?.data ?? {})
  const wanted = buildSecret(options, known)
  const missing = Object.keys(wanted).filter((key) => known[key] === undefined)
  if (found === undefined) {
    await kube.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: kube.namespace },
      type: 'Opaque',
      data: encode(wanted, missing),
    })
  } else if (missing.length > 0) {
    const { resourceVersion } = found.metadata
    await kube.mergePatch(secrets, name, { metadata: { resourceVersion }, data: encode(wanted, missing) })
  }
  logger.info({ secret: name, added: missing }, missing.length === 0 ? 'secrets exist' : 'secrets created')
}

/** All values; known ones are kept. URLs contain the passwords. */
function buildSecret({ databaseHost, natsHost }: SecretOptions, known: Readonly<Record<string, string>>) {
  const password = known.POSTGRES_PASSWORD ?? randomText(24)
  // The prefix keeps NATS from reading a token that begins with a digit or minus sign as a number.
  const token = known.NATS_TOKEN ?? `t${randomText(24)}`
  const databaseUrl = (user: string, word: string): string => `postgresql://${user}:${word}@${databaseHost}:5432/matte`
  return {
    POSTGRES_PASSWORD: password,
    DATABASE_URL: databaseUrl('matte', password),
    ...Object.fromEntries(
      processRoles.map((role) => [
        `DATABASE_URL_${role.toUpperCase()}`,
        databaseUrl(roleName('matte', role), randomText(24)),
      ]),
    ),
    NATS_TOKEN: token,
    NATS_URL: `nats://${token}@${natsHost}:4222`,
    S3_ACCESS_KEY_ID: randomBytes(10).toString('hex').toUpperCase(),
    S3_SECRET_ACCESS_KEY: randomText(30),
    MASTER_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    MATTE_API_KEY: generateApiKey().key,
    OPERATOR_TOKEN: randomText(32),
    ...known,
  }
}

const randomText = (bytes: number): string => randomBytes(bytes).toString('base64url')

const decode = (data: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]))

const encode = (values: Readonly<Record<string, string>>, keys: readonly string[]): Record<string, string> =>
  Object.fromEntries(keys.map((key) => [key, Buffer.from(values[key] ?? '').toString('base64')]))
