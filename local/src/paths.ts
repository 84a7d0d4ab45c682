// Paths of local mode, all below `.local/` in the checkout.
import { join, resolve } from 'node:path'

export const rootDir = resolve(import.meta.dirname, '../..')

/** Downloads, one folder per name and version; shared with the tests. */
export const partsDir = join(rootDir, '.local/parts')

export type Layout = {
  readonly localDir: string
  readonly dataDir: string
  readonly logDir: string
  readonly runDir: string
  /** `MATTE_BASE_URL` and `MATTE_API_KEY`, for shells and `make demo`. */
  readonly envFile: string
  /** Settings of the last `make up`, for `make admin`. Holds secrets. */
  readonly commonEnvFile: string
}

/** `MATTE_LOCAL_DIR` moves the installation, for tests. */
export function readLayout(env: Readonly<Record<string, string | undefined>>): Layout {
  const localDir = resolve(env.MATTE_LOCAL_DIR || join(rootDir, '.local'))
  return {
    localDir,
    dataDir: join(localDir, 'data'),
    logDir: join(localDir, 'log'),
    runDir: join(localDir, 'run'),
    envFile: join(localDir, 'env'),
    commonEnvFile: join(localDir, 'common-env.json'),
  }
}
