// Master keys of a process: from MASTER_KEYS, or from a file that a secret store may replace while the process runs.
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { ConfigError, optionalText, parsed, type Schema } from './env.ts'
import { repeat } from './loop.ts'
import { counter } from './metrics/define.ts'
import { type MasterKeys, parseMasterKeys } from './seal.ts'
import type { Service } from './service.ts'

export const masterKeySettings = {
  masterKeys: parsed<MasterKeys | undefined>(
    'MASTER_KEYS',
    {
      description:
        'seal recoverable secrets; the first seals, all open: id:base64,id2:base64 with keys of 32 bytes; needed ' +
        'unless MASTER_KEYS_FILE is set',
      default: undefined,
      requiredUnless: 'MASTER_KEYS_FILE',
      secret: true,
    },
    parseMasterKeys,
  ),
  masterKeysFile: optionalText('MASTER_KEYS_FILE', {
    description:
      'file with the contents of MASTER_KEYS, instead of it; line breaks may replace commas. Read again every 5 s, ' +
      'so new keys need no restart',
  }),
} as const satisfies Schema

/** For commands that also run without keys. */
export const optionalMasterKeySettings = {
  ...masterKeySettings,
  masterKeys: { ...masterKeySettings.masterKeys, requiredUnless: undefined },
}

type Settings = { readonly masterKeys: MasterKeys | undefined; readonly masterKeysFile: string | undefined }

export type OpenedKeys = {
  /** Changes in place with the file, so every holder of this map uses the new keys at once. */
  readonly masterKeys: MasterKeys
  /** Reads the file again; undefined without a file. */
  readonly masterKeyFile: KeyFile | undefined
}

/** @throws ConfigError if there are no keys, if both settings name some, or if the file has none */
export function openMasterKeys(settings: Settings): OpenedKeys {
  const opened = findMasterKeys(settings)
  if (opened === undefined) throw new ConfigError('MASTER_KEYS is missing')
  return opened
}

/** As `openMasterKeys`, but undefined if neither is set. */
export function findMasterKeys({ masterKeys, masterKeysFile: path }: Settings): OpenedKeys | undefined {
  if (path === undefined) return masterKeys && { masterKeys, masterKeyFile: undefined }
  if (masterKeys !== undefined) {
    throw new ConfigError('MASTER_KEYS and MASTER_KEYS_FILE are both set: remove MASTER_KEYS, or the name of the file')
  }
  try {
    return openFile(path)
  } catch (error) {
    throw new ConfigError(`MASTER_KEYS_FILE names ${path}, which ${reasonOf(error)}`)
  }
}

type KeyFile = {
  readonly path: string
  /**
   * Takes over the keys of the file if its contents changed, and returns whether they did.
   * @throws Error if the file has no valid keys; the previous keys stay
   */
  readonly refresh: () => Promise<boolean>
}

function openFile(path: string): OpenedKeys {
  let contents = readFileSync(path, 'utf8')
  const keys = new Map(parseMasterKeys(contents))
  const refresh = async (): Promise<boolean> => {
    const found = await readFile(path, 'utf8')
    if (found === contents) return false
    const next = parseMasterKeys(found)
    contents = found
    keys.clear()
    for (const [id, key] of next) keys.set(id, key)
    return true
  }
  return { masterKeys: keys, masterKeyFile: { path, refresh } }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code === undefined ? message : `cannot be read (${code})`
}

export const masterKeyMetrics = {
  reads: counter({
    name: 'matte_master_keys_reads_total',
    help:
      'Changed contents of MASTER_KEYS_FILE. accepted: the process uses the new keys; rejected: the file is missing or ' +
      'has no valid keys, counted every 5 s while the process uses the previous ones.',
    labels: { outcome: ['accepted', 'rejected'] },
  }),
}

/** Kubernetes replaces a mounted file a minute after its Secret, so reading it more often gains nothing. */
const readEveryMs = 5_000

type KeyLoop = { readonly registry: Registry; readonly logger: Logger }

/** Follows the file. Compares contents, because a volume may swap a link without a new time of the file. */
export function masterKeyLoop({ masterKeys, masterKeyFile }: OpenedKeys, { registry, logger }: KeyLoop): Service[] {
  const reads = masterKeyMetrics.reads.register(registry)
  if (masterKeyFile === undefined) return []
  const { path, refresh } = masterKeyFile
  let reported = false
  const pass = async (): Promise<number> => {
    try {
      if (await refresh()) {
        reads.inc({ outcome: 'accepted' })
        logger.info({ file: path, ids: [...masterKeys.keys()] }, 'master keys replaced')
      }
      reported = false
    } catch (error) {
      reads.inc({ outcome: 'rejected' })
      if (!reported)
        logger.error({ file: path }, `the file of the master keys ${reasonOf(error)}; the previous ones stay`)
      reported = true
    }
    return readEveryMs
  }
  return [repeat({ name: 'master keys', pass })]
}
