// The file with profiles: $XDG_CONFIG_HOME/matte/config.json. It holds API keys, so only its owner may read it.
import { chmod, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { credentialError } from '../cli-error.ts'

export type Profile = { readonly apiKey: string; readonly baseUrl: string }

export type Config = {
  /** Name of the profile that commands use by default. */
  readonly current: string
  readonly profiles: Readonly<Record<string, Profile>>
}

type Env = Readonly<Record<string, string | undefined>>

export const defaultProfile = 'default'

export const noConfig: Config = { current: defaultProfile, profiles: {} }

export function configPath(env: Env): string {
  const base = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config')
  return join(base, 'matte', 'config.json')
}

/**
 * Profiles; none if there is no file.
 * @throws CliError when other users can read the file, or it is damaged
 */
export async function readConfig(path: string): Promise<Config> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (found === undefined) return noConfig
  checkMode(path, found.mode)
  return parseConfig(path, await readFile(path, 'utf8'))
}

/** Without its file if the environment has everything, so a wrong file does not disturb CI. */
export const readConfigFor = async (env: NodeJS.ProcessEnv): Promise<Config> =>
  env.MATTE_API_KEY && env.MATTE_BASE_URL ? noConfig : readConfig(configPath(env))

/** Windows has no such modes. */
export function checkMode(path: string, mode: number, platform: string = process.platform): void {
  if (platform === 'win32' || (mode & 0o077) === 0) return
  const shown = (mode & 0o777).toString(8)
  throw credentialError(
    `Other users can read ${path} (mode ${shown}), which holds API keys.`,
    `Run: chmod 600 '${path}'. If others may have read it, revoke its keys and log in with new ones.`,
  )
}

export function parseConfig(path: string, text: string): Config {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  if (isConfig(value)) return value
  throw credentialError(`${path} is damaged.`, `Delete it and run: matte login`)
}

function isConfig(value: unknown): value is Config {
  if (!isObject(value) || typeof value.current !== 'string' || !isObject(value.profiles)) return false
  return Object.values(value.profiles).every(
    (each) => isObject(each) && typeof each.apiKey === 'string' && URL.canParse(String(each.baseUrl)),
  )
}

/** A name such as `constructor` finds no inherited member. */
export const findProfile = ({ profiles }: Config, name: string): Profile | undefined =>
  Object.hasOwn(profiles, name) ? profiles[name] : undefined

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** Replaces the file as a whole, so a crash leaves the old or the new one. */
export async function writeConfig(path: string, config: Config): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${process.pid}.tmp`
  try {
    const file = await open(temporary, 'w', 0o600)
    try {
      await file.writeFile(`${JSON.stringify(config, null, 2)}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    // A umask can only remove rights, but a leftover of an earlier crash may have others.
    await chmod(temporary, 0o600)
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

export const withProfile = (config: Config, name: string, profile: Profile): Config => ({
  current: name,
  profiles: { ...config.profiles, [name]: profile },
})

/** Without the profile. If it was the current one, the first of the others takes its place. */
export function withoutProfile({ current, profiles }: Config, name: string): Config {
  const { [name]: _removed, ...others } = profiles
  return { current: current === name ? (Object.keys(others)[0] ?? defaultProfile) : current, profiles: others }
}

/** `service_live_…9xQ2`: enough to recognize a key. */
export const maskKey = (apiKey: string): string =>
  apiKey.length < 20 ? '…' : `${/^[a-z]+_[a-z]+_/.exec(apiKey)?.[0] ?? ''}…${apiKey.slice(-4)}`
