// Where local mode keeps things. Everything it makes lies under `.local/` in the checkout.
import { join, resolve } from 'node:path'

export const rootDir = resolve(import.meta.dirname, '../..')

/** What is fetched from registries, one folder per name and version. Shared by `make up` and the tests. */
export const partsDir = join(rootDir, '.local/parts')

/** The folders of one running installation. */
export type Layout = {
  readonly localDir: string
  readonly dataDir: string
  readonly logDir: string
  /** Pid files. */
  readonly runDir: string
  /** `MATTE_BASE_URL` and `MATTE_API_KEY`, for shells and `make demo`. */
  readonly envFile: string
  /** The environment of our processes at the last `make up`, for `make admin`. Holds secrets. */
  readonly commonEnvFile: string
}

/** `MATTE_LOCAL_DIR` moves the installation, so that a test can have one of its own beside the developer's. */
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
