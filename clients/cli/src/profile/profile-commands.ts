// matte login, logout and profiles.
import type { Command } from 'commander'
import { type ApiKey, type Matte, MatteError } from 'matte-client'
import { CliError, credentialError, usageError } from '../cli-error.ts'
import { exitCodes } from '../exit-codes.ts'
import { createOutput, type Output } from '../print/output.ts'
import { createClient, withOutput } from '../session.ts'
import {
  type Config,
  configPath,
  defaultProfile,
  findProfile,
  maskKey,
  noConfig,
  readConfig,
  withoutProfile,
  withProfile,
  writeConfig,
} from './config-file.ts'
import { findKeyForm, openBrowser } from './console.ts'
import { readBaseUrl } from './credential.ts'
import { isLoopbackHost } from './loopback.ts'
import { askLine, readPipedLine } from './read-secret.ts'

type Options = {
  readonly json?: boolean
  readonly quiet?: boolean
  readonly profile?: string
  readonly baseUrl?: string
  readonly console?: boolean
}

export function addProfileCommands(program: Command): void {
  withOutput(program.command('login').description('check an API key with the service, and store it'))
    .option('--profile <name>', 'name to store it by', defaultProfile)
    .option('--base-url <url>', 'address of the service (default: MATTE_BASE_URL, or a prompt)')
    .option('--console', 'open the page of the service that creates a key')
    .addHelpText('after', '\nA script pipes the key: matte login --base-url URL < key-file')
    .action(login)
  withOutput(program.command('logout').description('forget the key of a profile; it stays valid until it is revoked'))
    .option('--profile <name>', 'profile to forget (default: the current one)')
    .action(logout)
  const profiles = withOutput(program.command('profiles').description('list profiles').action(listProfiles))
  withOutput(profiles.command('use').description('make a profile the default')).argument('<name>').action(useProfile)
}

async function login({ profile = defaultProfile, baseUrl, console: byConsole, ...options }: Options): Promise<void> {
  if (!/^[\w][\w.-]{0,63}$/.test(profile)) {
    throw usageError(`${profile} is no name for a profile.`, 'Use letters, digits, dots, dashes and underscores.')
  }
  const out = createOutput(options)
  const path = configPath(process.env)
  const config = await readConfig(path)
  const service = readBaseUrl(baseUrl ?? process.env.MATTE_BASE_URL ?? (await askBaseUrl(config, profile)))
  const { protocol, hostname } = new URL(service)
  if (protocol === 'http:' && !isLoopbackHost(hostname))
    out.note(`Warning: ${service} is not encrypted; others on the network can read the key.`)
  if (byConsole) await showKeyForm(service, out)
  const apiKey = (
    process.stdin.isTTY ? await askLine({ prompt: 'API key: ', echo: false }) : await readPipedLine()
  ).trim()
  if (apiKey === '')
    throw credentialError('There is no API key.', 'Paste the key at the prompt, or pipe it: matte login < key-file')
  const key = await checkKey(createClient({ apiKey, baseUrl: service }, 1), apiKey)
  await writeConfig(path, withProfile(config, profile, { apiKey, baseUrl: service }))
  printLogin({ profile, baseUrl: service, path, key }, out)
}

async function showKeyForm(service: string, out: Output): Promise<void> {
  const form = await findKeyForm(service)
  out.note(`Create a key on this page, and paste it here: ${form}`)
  if (process.stdin.isTTY) openBrowser(form)
}

async function askBaseUrl(config: Config, profile: string): Promise<string> {
  const known = findProfile(config, profile)?.baseUrl
  if (!process.stdin.isTTY) {
    if (known !== undefined) return known
    throw usageError('There is no base URL.', 'Add --base-url, such as https://matte.example.com/api/v1')
  }
  const prompt = known === undefined ? 'Base URL (such as https://matte.example.com): ' : `Base URL [${known}]: `
  return (await askLine({ prompt, echo: true })).trim() || (known ?? '')
}

/** The record of the key, if its scopes allow reading it. @throws MatteError when the service refuses the key */
async function checkKey(matte: Matte, apiKey: string): Promise<ApiKey | undefined> {
  try {
    const keys = await matte.apiKeys.list().all()
    return findKey(keys, apiKey)
  } catch (error) {
    // The service checks the key before its scopes.
    if (error instanceof MatteError && error.code === 'API_KEY_INSUFFICIENT_SCOPE') return undefined
    throw error
  }
}

/** The service does not say which key a request used; prefix and last characters do. */
export function findKey(keys: readonly ApiKey[], apiKey: string): ApiKey | undefined {
  const found = keys.filter(
    (key) => apiKey.startsWith(key.prefix) && apiKey.endsWith(key.lastFour) && key.revokedAt === null,
  )
  return found.length === 1 ? found[0] : undefined
}

type Login = {
  readonly profile: string
  readonly baseUrl: string
  readonly path: string
  readonly key: ApiKey | undefined
}

function printLogin({ profile, baseUrl, path, key }: Login, out: Output): void {
  const record = { profile, baseUrl, file: path, scopes: key?.scopes ?? null }
  out.result(record, `Logged in to ${baseUrl}. The key is stored as profile ${profile} in ${path}.`)
  if (key !== undefined) out.note(`Scopes of key ${key.name}: ${key.scopes.join(' ')}`)
}

async function logout({ profile, ...options }: Options): Promise<void> {
  const out = createOutput(options)
  const path = configPath(process.env)
  const config = await readConfig(path)
  const name = profile ?? config.current
  if (findProfile(config, name) === undefined) throw noProfile(name, config)
  await writeConfig(path, withoutProfile(config, name))
  out.result({ profile: name, removed: true }, `Profile ${name} is removed from ${path}.`)
  out.note('The key itself stays valid. Revoke it in the developer settings of your workspace if nothing else uses it.')
}

const noProfile = (name: string, { profiles }: Config): CliError => {
  const names = Object.keys(profiles).join(', ')
  return new CliError(
    exitCodes.credential,
    `There is no profile ${name}.`,
    names === '' ? 'Run: matte login' : `Use one of: ${names}`,
  )
}

async function listProfiles(options: Options): Promise<void> {
  const out = createOutput(options)
  const { current, profiles } = await readConfig(configPath(process.env))
  const rows = Object.entries(profiles).map(([name, { apiKey, baseUrl }]) => ({
    name,
    current: name === current,
    baseUrl,
    key: maskKey(apiKey),
  }))
  out.table(
    rows,
    [
      { title: '', value: (row) => (row.current ? '*' : '') },
      { title: 'profile', value: ({ name }) => name },
      { title: 'base URL', value: ({ baseUrl }) => baseUrl },
      { title: 'key', value: ({ key }) => key },
    ],
    'There are no profiles. Run: matte login',
  )
  const set = ['MATTE_API_KEY', 'MATTE_BASE_URL', 'MATTE_PROFILE'].filter((name) => process.env[name])
  if (set.length > 0) out.note(`${set.join(' and ')} ${set.length === 1 ? 'is' : 'are'} set and used first.`)
}

async function useProfile(name: string, options: Options): Promise<void> {
  const out = createOutput(options)
  const path = configPath(process.env)
  const config = await readConfig(path)
  if (findProfile(config, name) === undefined) throw noProfile(name, config ?? noConfig)
  await writeConfig(path, { ...config, current: name })
  out.result({ profile: name, current: true }, `Commands now use profile ${name}.`)
}
