// Chooses the API key and the base URL of a command: environment first, then a profile.
import { credentialError, usageError } from '../cli-error.ts'
import { type Config, findProfile } from './config-file.ts'

export type Credential = {
  readonly apiKey: string
  readonly baseUrl: string
  /** For people: where both come from. */
  readonly source: string
  /** A setting that had no effect. */
  readonly note?: string
}

type Env = Readonly<Record<string, string | undefined>>

type Choice = { readonly env: Env; readonly config: Config; readonly profileName: string | undefined }

/** @throws CliError when the key or the base URL is missing, or they belong to different services */
export function chooseCredential({ env, config, profileName }: Choice): Credential {
  const wanted = profileName ?? (env.MATTE_PROFILE || undefined)
  const name = wanted ?? config.current
  const profile = findProfile(config, name)
  const { MATTE_API_KEY: envKey, MATTE_BASE_URL: envUrl } = env
  if (envKey && envUrl) {
    const note = profileName === undefined ? {} : { note: unusedProfile(profileName) }
    return { apiKey: envKey, baseUrl: readBaseUrl(envUrl), source: 'MATTE_API_KEY and MATTE_BASE_URL', ...note }
  }
  if (profile === undefined) throw missing(wanted, config, envKey)
  const source = `profile ${name}`
  if (envKey) return { apiKey: envKey, baseUrl: profile.baseUrl, source: `MATTE_API_KEY, and base URL of ${source}` }
  const baseUrl = envUrl ? readBaseUrl(envUrl) : profile.baseUrl
  if (new URL(baseUrl).origin !== new URL(profile.baseUrl).origin) throw otherService(name, profile.baseUrl, baseUrl)
  return { apiKey: profile.apiKey, baseUrl, source: envUrl ? `key of ${source}, and MATTE_BASE_URL` : source }
}

/** The base URL without its key, for commands that send none; undefined without a setting. @throws CliError */
export function chooseBaseUrl({ env, config }: Omit<Choice, 'profileName'>): string | undefined {
  if (env.MATTE_BASE_URL) return readBaseUrl(env.MATTE_BASE_URL)
  return findProfile(config, env.MATTE_PROFILE || config.current)?.baseUrl
}

const unusedProfile = (name: string): string =>
  `MATTE_API_KEY and MATTE_BASE_URL are set, so profile ${name} is not used. Unset them to use it.`

function missing(wanted: string | undefined, { profiles }: Config, envKey: string | undefined) {
  const names = Object.keys(profiles)
  if (wanted !== undefined && names.length > 0) {
    return credentialError(
      `There is no profile ${wanted}.`,
      `Use one of: ${names.join(', ')}, or run: matte login --profile ${wanted}`,
    )
  }
  return envKey
    ? credentialError(
        'MATTE_API_KEY is set, but no base URL.',
        'Set MATTE_BASE_URL too, such as https://matte.example.com/api/v1',
      )
    : credentialError('There is no API key.', 'Run: matte login, or set MATTE_API_KEY and MATTE_BASE_URL.')
}

/** A key must not go to a service that it does not belong to. */
const otherService = (name: string, own: string, other: string) =>
  credentialError(
    `MATTE_BASE_URL is ${new URL(other).origin}, but the key of profile ${name} belongs to ${new URL(own).origin}.`,
    'Set MATTE_API_KEY too, or unset MATTE_BASE_URL.',
  )

/**
 * The base URL with the version path. A bare origin gets `/api/v1`.
 * @throws CliError for a text that is no http URL
 */
export function readBaseUrl(text: string): string {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search + url.hash !== '') {
    throw usageError('The base URL is no http or https URL.', 'Give one such as https://matte.example.com/api/v1')
  }
  const path = url.pathname.replace(/\/+$/, '')
  return `${url.origin}${path === '' ? '/api/v1' : path}`
}
