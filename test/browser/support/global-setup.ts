// The servers without Triton, because each file has a fake one, and the built console.
import type { TestProject } from 'vitest/node'
import { startShared } from '../../support/global-setup.ts'
import { buildConsole } from './build-console.ts'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await buildConsole()
  return startShared(project, ['triton'])
}
