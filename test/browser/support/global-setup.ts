// The servers without Triton, because each file has a fake one, and the built console.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { rootDir } from '@matte/local/paths'
import type { TestProject } from 'vitest/node'
import { startShared } from '../../support/global-setup.ts'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await promisify(execFile)(process.execPath, [join(rootDir, 'api/console/build.ts')])
  return startShared(project, ['triton'])
}
