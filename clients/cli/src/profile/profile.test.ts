import { chmodSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  type Config,
  configPath,
  maskKey,
  noConfig,
  readConfig,
  withoutProfile,
  withProfile,
  writeConfig,
} from './config-file.ts'
import { chooseCredential, readBaseUrl } from './credential.ts'
import { isLoopbackHost } from './loopback.ts'

const profile = { apiKey: 'service_live_abcdefghijklmnopqrst9xQ2', baseUrl: 'https://matte.example.com/api/v1' }
const config: Config = { current: 'default', profiles: { default: profile, staging: { ...profile, apiKey: 'other' } } }

const newPath = (): string => join(mkdtempSync(join(tmpdir(), 'matte-cli-')), 'matte', 'config.json')

describe('the file with profiles', () => {
  it('is written for its owner alone, whatever the umask and whatever was there before', async () => {
    const path = newPath()
    const umask = process.umask(0)
    try {
      await writeConfig(path, config)
      chmodSync(path, 0o666)
      await writeConfig(path, config)
    } finally {
      process.umask(umask)
    }
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700)
    expect(await readConfig(path)).toEqual(config)
  })

  it.each(['644', '640', '604', '660'])('is refused with mode %s, and the error says what to run', async (mode) => {
    const path = newPath()
    await writeConfig(path, config)
    chmodSync(path, mode)
    await expect(readConfig(path)).rejects.toMatchObject({
      exitCode: 3,
      advice: expect.stringContaining(`chmod 600 '${path}'`),
    })
  })

  it('may be absent', async () => {
    expect(await readConfig(newPath())).toEqual(noConfig)
  })

  it('is refused when it is damaged, without its content in the error', async () => {
    const path = newPath()
    await writeConfig(path, config)
    writeFileSync(path, readFileSync(path, 'utf8').slice(0, 60))
    await expect(readConfig(path)).rejects.toMatchObject({ exitCode: 3, message: `${path} is damaged.` })
  })

  it('is below XDG_CONFIG_HOME, or ~/.config', () => {
    expect(configPath({ XDG_CONFIG_HOME: '/x' })).toBe('/x/matte/config.json')
    expect(configPath({ HOME: '/home/me' })).toBe('/home/me/.config/matte/config.json')
  })

  it('loses a profile, and another one becomes the current one', () => {
    expect(withoutProfile(config, 'default')).toEqual({
      current: 'staging',
      profiles: { staging: config.profiles.staging },
    })
    expect(withoutProfile(withProfile(noConfig, 'a', profile), 'a')).toEqual(noConfig)
  })

  it('shows keys by their beginning and end only', () => {
    expect(maskKey(profile.apiKey)).toBe('service_live_…9xQ2')
    expect(maskKey('short')).toBe('…')
  })
})

describe('the choice of the credential', () => {
  const choose = (env: Record<string, string>, profileName?: string) => chooseCredential({ env, config, profileName })

  it('takes the environment before any profile', () => {
    const env = { MATTE_API_KEY: 'env-key', MATTE_BASE_URL: 'https://other.example.com/api/v1' }
    expect(choose(env)).toMatchObject({ apiKey: 'env-key', baseUrl: 'https://other.example.com/api/v1' })
    expect(choose(env, 'staging')).toMatchObject({ apiKey: 'env-key', note: expect.stringContaining('staging') })
  })

  it('takes the named profile, then that of MATTE_PROFILE, then the current one', () => {
    expect(choose({ MATTE_PROFILE: 'default' }, 'staging').apiKey).toBe('other')
    expect(choose({ MATTE_PROFILE: 'staging' }).apiKey).toBe('other')
    expect(choose({}).apiKey).toBe(profile.apiKey)
  })

  it('does not send the key of a profile to another service', () => {
    const env = { MATTE_BASE_URL: 'https://evil.example.com/api/v1' }
    expect(() => choose(env)).toThrow('belongs to https://matte.example.com')
  })

  it('lists the profiles when the named one is unknown, also by the name of an inherited member', () => {
    expect(() => choose({}, 'production')).toThrow('There is no profile production.')
    expect(() => choose({}, 'constructor')).toThrow('There is no profile constructor.')
  })

  it('says what to do without any key', () => {
    expect(() => chooseCredential({ env: {}, config: noConfig, profileName: undefined })).toThrow(
      'There is no API key.',
    )
  })
})

describe('base URLs', () => {
  it.each([
    ['https://matte.example.com', 'https://matte.example.com/api/v1'],
    ['https://matte.example.com/', 'https://matte.example.com/api/v1'],
    [' https://matte.example.com/api/v1/ ', 'https://matte.example.com/api/v1'],
    ['http://127.0.0.1:8080/matte/api/v1', 'http://127.0.0.1:8080/matte/api/v1'],
  ])('%s is read as %s', (text, url) => {
    expect(readBaseUrl(text)).toBe(url)
  })

  it.each(['matte.example.com', 'ftp://matte.example.com', 'https://user:pw@matte.example.com', ''])(
    '%s is refused without being repeated',
    (text) => {
      expect(() => readBaseUrl(text)).toThrow('The base URL is no http or https URL.')
    },
  )

  it.each([
    ['localhost', true],
    ['api.localhost', true],
    ['127.0.0.2', true],
    ['[::1]', true],
    ['[::ffff:127.0.0.1]', true],
    ['localhost.example.com', false],
    ['128.0.0.1', false],
    ['10.0.0.1', false],
  ])('%s is this machine: %s', (host, isThisMachine) => {
    expect(isLoopbackHost(host)).toBe(isThisMachine)
  })
})
