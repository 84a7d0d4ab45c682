import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { rootDir } from '@matte/local/paths'

/** Builds the console into the folder that the API serves. */
export async function buildConsole(): Promise<void> {
  await promisify(execFile)(process.execPath, [join(rootDir, 'api/console/build.ts')])
}
