// Steps of the chart's Jobs. `setup secrets` creates the Secret of passwords. `setup delete-pools` deletes the
// release's pools after an uninstall. Charts up to 0.2 run `setup pools`.
import { ConfigError, choice, parseEnv, text } from '@matte/core/runtime/env'
import { createLogger } from '@matte/core/runtime/logger'
import { runMain } from '@matte/core/runtime/main'
import { createRegistry } from '@matte/core/runtime/metrics/registry'
import { createKubeClient } from '../operator/kube/client.ts'
import { findClusterAccess } from '../operator/kube/cluster-access.ts'
import { createClusterMetrics } from '../operator/kube/kube-metrics.ts'
import { applyPools, deletePools } from './pools.ts'
import { ensureSecret } from './secrets.ts'

const schema = {
  namespace: text('KUBE_NAMESPACE', { description: 'namespace of the release' }),
  secretName: text('SECRET_NAME', { description: 'Secret to create', default: 'matte-secrets' }),
  databaseHost: text('DATABASE_HOST', { description: 'host of the built-in PostgreSQL', default: 'postgresql' }),
  natsHost: text('NATS_HOST', { description: 'host of the built-in NATS', default: 'nats' }),
  poolsConfigMap: text('POOLS_CONFIG_MAP', { description: 'ConfigMap with the pools', default: 'matte-pools' }),
  logLevel: choice('LOG_LEVEL', ['debug', 'info', 'warn'], { description: 'least level', default: 'info' }),
}

await runMain(async () => {
  const config = parseEnv(schema, process.env)
  const logger = createLogger('setup', config.logLevel)
  const loaded = await findClusterAccess()
  if (loaded === undefined)
    throw new ConfigError('No cluster configuration found. Run this in a pod, or set KUBECONFIG.')
  const metrics = createClusterMetrics(createRegistry('setup'))
  const { namespace } = config
  const kube = createKubeClient({ config: loaded.config, namespace, fieldManager: 'matte-setup', metrics, logger })
  try {
    const [, , step] = process.argv
    if (step === 'secrets') await ensureSecret(kube, config, logger)
    else if (step === 'pools') await applyPools(kube, config.poolsConfigMap, logger)
    else if (step === 'delete-pools') await deletePools(kube, config.poolsConfigMap, logger)
    else throw new ConfigError('No step named. Start this with secrets or delete-pools.')
  } finally {
    kube.close()
  }
})
