// Settings of the operator. It has none of the object store, so the process holds no key of the store.
import { busSettings } from '@matte/core/bus-settings'
import { databaseSettings } from '@matte/core/database-settings'
import { checkTls, tlsSettings } from '@matte/core/required-tls'
import { authoritySettings } from '@matte/core/runtime/authorities'
import {
  ConfigError,
  choice,
  type Env,
  flag,
  type Infer,
  int,
  optionalText,
  parsed,
  parseEnv,
} from '@matte/core/runtime/env'
import { releaseOf, schema as worker } from './config.ts'

export const operatorSchema = {
  ...databaseSettings,
  databasePoolMax: worker.databasePoolMax,
  ...busSettings,
  ...authoritySettings,
  ...tlsSettings,
  kubeNamespace: worker.kubeNamespace,
  kubeNamespaces: worker.kubeNamespaces,
  poolRelease: worker.poolRelease,
  unlabelledPools: worker.unlabelledPools,
  poolsConfigMap: optionalText('POOLS_CONFIG_MAP', {
    description:
      "ConfigMap with the pools of the chart's values, which the leader applies and restores; needs POOL_RELEASE",
  }),
  podPatch: choice('POD_PATCH', ['restricted', 'any'], {
    default: 'restricted',
    description:
      "allowed podPatch of a TritonPool. restricted: Pod Security's restricted profile, no service accounts, no " +
      'Secrets. any: everything that Kubernetes accepts (docs/operator.md)',
  }),
  podServiceAccounts: parsed<readonly string[]>(
    'POD_SERVICE_ACCOUNTS',
    {
      default: [],
      description:
        'service accounts that podPatch may name, separated by commas, such as models-reader; default: none ' +
        '(docs/operator.md)',
    },
    parseServiceAccounts,
  ),
  podPriorityClasses: parsed<readonly string[]>(
    'POD_PRIORITY_CLASSES',
    {
      default: [],
      description:
        'PriorityClasses that podPatch may name, separated by commas, such as serving; default: none, because pods ' +
        'of a higher class evict others (docs/operator.md)',
    },
    parsePriorityClasses,
  ),
  podUserIds: flag('POD_USER_IDS', {
    default: true,
    description:
      "run the pods of TritonPools as the user of NVIDIA's image; off on platforms that assign user ids, such as " +
      'OpenShift',
  }),
  podIpv6: flag('POD_IPV6', {
    default: false,
    description: 'have the pods of TritonPools listen on IPv6 as well as IPv4; the nodes need it',
  }),
  concurrentRollouts: int('CONCURRENT_ROLLOUTS', {
    default: 2,
    min: 1,
    max: 1_000,
    description: 'maximum TritonPools that roll out a changed spec at once; the others wait',
  }),
  modelsAllowedLicences: worker.modelsAllowedLicences,
  plans: worker.plans,
  host: worker.host,
  healthPort: int('HEALTH_PORT', { default: 8084, max: 65_535, description: 'port of /healthz, /readyz, /metrics' }),
  stopWithinMs: worker.stopWithinMs,
  logLevel: worker.logLevel,
  otlpEndpoint: worker.otlpEndpoint,
}

export type OperatorConfig = Infer<typeof operatorSchema>

/** @throws ConfigError */
export function readOperatorConfig(env: Env): OperatorConfig {
  const config = parseEnv(operatorSchema, env)
  checkTls(config)
  const release = releaseOf(config)
  const own = findOwnAccount(config.podServiceAccounts, release?.name)
  if (own !== undefined) {
    throw new ConfigError(
      `POD_SERVICE_ACCOUNTS has ${own}, an account of the release: remove it and give the pools another account.`,
    )
  }
  if (release !== undefined || config.poolsConfigMap === undefined) return config
  throw new ConfigError('POOLS_CONFIG_MAP is set: set POOL_RELEASE to the name of the release that owns these pools.')
}

/** Suffixes of the chart's own accounts, after the release name. */
const components = ['api', 'delete-pools', 'dispatcher', 'operator', 'setup', 'test', 'worker']

/** Parses comma-separated names. @throws Error if one is not a valid name */
export function parseServiceAccounts(value: string): readonly string[] {
  return parseNames(value, { of: 'a service account', such: 'models-reader,other-reader' })
}

function parsePriorityClasses(value: string): readonly string[] {
  return parseNames(value, { of: 'a PriorityClass', such: 'serving,batch' })
}

function parseNames(value: string, { of, such }: { readonly of: string; readonly such: string }): readonly string[] {
  const names = value.split(',').map((name) => name.trim())
  const wrong = names.find((name) => name.length > 253 || !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name))
  if (wrong !== undefined) throw new Error(`"${wrong}" is not a name of ${of}: write names such as ${such}`)
  return [...new Set(names)]
}

/** The chart refuses renamed accounts (templates/checks.yaml). */
export const findOwnAccount = (names: readonly string[], release: string | undefined): string | undefined =>
  release === undefined ? undefined : names.find((name) => components.some((one) => name === `${release}-${one}`))
