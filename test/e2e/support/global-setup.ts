// Shared servers of the scenarios: PostgreSQL, NATS and an object store beside the cluster; Triton runs in it. Fails at
// once without a cluster, or if the cluster lacks the images.
import { createKubeClient } from '@matte/controller/operator/kube/client'
import { createKubeMetrics } from '@matte/controller/operator/kube/kube-metrics'
import { fieldManager } from '@matte/controller/operator/pool/labels'
import { createRegistry } from '@matte/core/runtime/metrics/registry'
import { pino } from 'pino'
import type { TestProject } from 'vitest/node'
import { startShared } from '../../support/global-setup.ts'
import { findFault } from '../../support/kube.ts'
import { findMissingImages } from './images.ts'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const missing = await findMissing()
  if (missing !== undefined) throw new Error(`make e2e cannot begin: ${missing}`)
  return startShared(project, ['triton'])
}

async function findMissing(): Promise<string | undefined> {
  const cluster = await findFault()
  if (typeof cluster === 'string') return cluster
  const kube = createKubeClient({
    config: cluster.config,
    namespace: 'default',
    fieldManager,
    metrics: createKubeMetrics(createRegistry('test')),
    logger: pino({ level: 'silent' }),
  })
  try {
    return await findMissingImages(kube)
  } finally {
    kube.close()
  }
}
