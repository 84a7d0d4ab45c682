// Puts one thing into `.local/parts/<name>`: made aside, then renamed, so that a half-made part is never used, and two
// programs that install at the same time do not disturb each other (the first to finish wins).
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { partsDir } from '../paths.ts'

/**
 * Returns the part's folder; `make` gets an empty folder to fill and is not called when the part is there.
 * @throws Error that names the part, the reason and what to do
 */
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
    if (!existsSync(target)) throw error // otherwise another program has just put the same part there
  }
}
