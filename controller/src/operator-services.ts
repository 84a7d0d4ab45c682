import { schemaAtStart } from '@matte/core/db/schema'
import { describeConfig } from '@matte/core/runtime/env'
import { healthServer, readiness } from '@matte/core/runtime/health'
import { createLogger } from '@matte/core/runtime/logger'
import type { Service } from '@matte/core/runtime/service'
import { tracing } from '@matte/core/runtime/tracing'
import type { Logger } from 'pino'
import { releaseOf } from './config.ts'
import { openEdges } from './edges.ts'
import { operatorMode } from './operator/operator-mode.ts'
import { type OperatorConfig, operatorSchema } from './operator-config.ts'
import { loadTriton } from './worker/triton/triton-protocol.ts'

export async function buildServices(config: OperatorConfig): Promise<{ logger: Logger; services: Service[] }> {
  const logger = createLogger('operator', config.logLevel)
  logger.info({ config: describeConfig(operatorSchema, config) }, 'configuration read')
  const edges = openEdges({ process: 'operator', config, more: ['triton', 'kubernetes'], logger })
  const { database, bus, registry } = edges
  const mode = await operatorMode({
    ...edges,
    namespace: config.kubeNamespace,
    moreNamespaces: config.kubeNamespaces,
    release: releaseOf(config),
    poolsConfigMap: config.poolsConfigMap,
    Stub: loadTriton(),
    plans: config.plans,
    podPatch: {
      form: config.podPatch,
      serviceAccounts: config.podServiceAccounts,
      priorityClasses: config.podPriorityClasses,
    },
    licences: config.modelsAllowedLicences,
    platform: { userIds: config.podUserIds, ipv6: config.podIpv6 },
    concurrentRollouts: config.concurrentRollouts,
  })
  const databaseSchema = schemaAtStart(database, { logger, roles: ['operator'] })
  const ready = readiness(databaseSchema.checks)
  return {
    logger,
    services: [
      tracing('operator', config.otlpEndpoint),
      database,
      // Started before the slow services, so a process that waits for a migration reports that it is alive.
      healthServer({ host: config.host, port: config.healthPort, readiness: ready, registry }),
      databaseSchema,
      bus,
      ...mode.services,
    ],
  }
}
