// Settings of the operator. It has no setting of the object store: the process holds no key of it (D89).
import { databaseSettings } from '@matte/core/database-settings'
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
import { findOwnAccount, parseServiceAccounts } from './pod-service-accounts.ts'

export const operatorSchema = {
  ...databaseSettings,
  databasePoolMax: worker.databasePoolMax,
  natsUrl: worker.natsUrl,
  natsStreamPrefix: worker.natsStreamPrefix,
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
      "what podPatch of a TritonPool may do: restricted, within Pod Security's restricted profile, without service " +
      'accounts and Secrets; any, whatever Kubernetes takes (docs/operator.md)',
  }),
  podServiceAccounts: parsed<readonly string[]>(
    'POD_SERVICE_ACCOUNTS',
    {
      default: [],
      description:
        'service accounts that pods of TritonPools can run as in podPatch, separated by commas, such as ' +
        'models-reader; without it none (docs/operator.md)',
    },
    parseServiceAccounts,
  ),
  podUserIds: flag('POD_USER_IDS', {
    default: true,
    description:
      "run the pods of TritonPools as the user of NVIDIA's image; off where the platform assigns the user " +
      'ids, such as OpenShift',
  }),
  podIpv6: flag('POD_IPV6', {
    default: false,
    description: 'have the pods of TritonPools listen on IPv6 as well as IPv4; the nodes need it',
  }),
  concurrentRollouts: int('CONCURRENT_ROLLOUTS', {
    default: 2,
    min: 1,
    max: 1_000,
    description: 'TritonPools that roll out a changed spec at once; the others wait for their turn',
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
