// Settings of the operator. It has no setting of the object store: the process holds no key of it (D89).
import { databaseSettings } from '@matte/core/database-settings'
import { choice, type Env, flag, type Infer, int, parseEnv } from '@matte/core/runtime/env'
import { schema as worker } from './config.ts'

export const operatorSchema = {
  ...databaseSettings,
  databasePoolMax: worker.databasePoolMax,
  natsUrl: worker.natsUrl,
  natsStreamPrefix: worker.natsStreamPrefix,
  kubeNamespace: worker.kubeNamespace,
  kubeNamespaces: worker.kubeNamespaces,
  podPatch: choice('POD_PATCH', ['restricted', 'any'], {
    default: 'restricted',
    description:
      "what podPatch of a TritonPool may do: restricted, within Pod Security's restricted profile, without service " +
      'accounts and Secrets; any, whatever Kubernetes takes (docs/operator.md)',
  }),
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
export const readOperatorConfig = (env: Env): OperatorConfig => parseEnv(operatorSchema, env)
