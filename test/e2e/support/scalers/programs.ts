// Requirements of the external scaler scenarios: programs in $PATH, and an unused external metrics API.
import { accessSync, constants } from 'node:fs'
import { join, relative } from 'node:path'
import { loadKubeConfig } from '@matte/controller/operator/kube/cluster-access'
import { createTransport } from '@matte/controller/operator/kube/http/transport'
import { rootDir } from '@matte/local/paths'
import { reportSkip } from '../../../support/report/skips.ts'
import { externalMetricsName } from './external-metrics.ts'

/** Reason why the tests named `matching` cannot run, reported once; undefined if they can. */
export async function findMissingPrograms(names: readonly string[], matching: string): Promise<string | undefined> {
  const missing = names.filter((name) => !isProgram(name))
  const reason =
    missing.length > 0 ? `not in $PATH: ${missing.join(', ')} (docs/external-scalers.md)` : await findOtherAdapter()
  if (reason !== undefined) reportSkip({ matching: relative(rootDir, matching), reason })
  return reason
}

function isProgram(name: string): boolean {
  return (process.env.PATH ?? '').split(':').some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

async function findOtherAdapter(): Promise<string | undefined> {
  const loaded = await loadKubeConfig()
  if (loaded === undefined) return 'there is no cluster'
  const transport = createTransport(loaded.config)
  try {
    const path = `/apis/apiregistration.k8s.io/v1/apiservices/${externalMetricsName}`
    const { status } = await transport.send({ method: 'GET', path, timeoutMs: 10_000 })
    return status === 404 ? undefined : 'somebody serves external metrics on this cluster already'
  } finally {
    transport.close()
  }
}
