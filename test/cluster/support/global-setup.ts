import { listMissingImages, run } from '../../chart/helm.ts'
import { until } from '../../support/until.ts'
import { removeDefinition } from './crd.ts'

/** Time for a kubelet to report an image loaded just before the run. */
const reportedWithinMs = 60_000

export default async function setup(): Promise<void> {
  const { failed } = await run('kubectl', ['get', '--raw=/readyz', '--request-timeout=5s'])
  if (failed) return
  const all = () => listMissingImages().length === 0
  // Otherwise the tests are skipped, with the reason.
  await until('the nodes report the images', all, { timeoutMs: reportedWithinMs, everyMs: 1_000 }).catch(() => {})
  await removeDefinition()
}
