// Installs into `.local/parts/<name>` through a temporary folder and a rename, so no program sees half a part. If two
// installations run at once, the first to finish wins.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { partsDir } from '../paths.ts'

/** `make` fills an empty folder. @throws Error with the reason and advice */
export async function installPart(name: string, make: (dir: string) => Promise<void>): Promise<string> {
  const target = join(partsDir, name)
  if (existsSync(target)) return target
  mkdirSync(partsDir, { recursive: true })
  const aside = mkdtempSync(join(partsDir, `.${name}.`))
  try {
    await make(aside)
    renameInto(aside, target)
  } catch (error) {
    const reason = error instanceof Error ? error.message : error
    throw new Error(`${name} could not be installed: ${reason}\n${advice}`, { cause: error })
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
  return target
}

const advice =
  'Check the network, HTTPS_PROXY and the registries (PIP_INDEX_URL, pip config list, npm config get registry), ' +
  'then run the command again.'

function renameInto(aside: string, target: string): void {
  try {
    renameSync(aside, target)
  } catch (error) {
    if (!existsSync(target)) throw error // otherwise another program has installed the same part
  }
}
