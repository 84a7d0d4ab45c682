// Commands as processes against a service over HTTP.
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type FakeService, png, startFakeService, testKey } from './testing/fake-service.fixtures.ts'
import { newFolder, parseLines, runCli } from './testing/run-cli.fixtures.ts'
import { version } from './version.ts'

const timeout = { timeout: 60_000 }

let service: FakeService
let cwd: string

beforeEach(async () => {
  service = await startFakeService()
  cwd = newFolder()
})
afterEach(() => service.stop())

const matte = (...args: string[]) => runCli(args, { cwd, env: service.env })
const login = (input: string, ...args: string[]) =>
  runCli(['login', '--base-url', service.origin, ...args], { cwd, input: `${input}\n` })

describe('profiles', timeout, () => {
  it('stores a key that the service accepts, uses it, and forgets it', async () => {
    const { code, stdout, stderr } = await login(testKey)
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(`Logged in to ${service.baseUrl}.`) })
    expect(stderr).toContain('Scopes of key production: uploads:write')
    const path = join(cwd, '.config/matte/config.json')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect((await runCli(['usage'], { cwd })).stdout).toContain('credits used     2')
    const profiles = await runCli(['profiles'], { cwd })
    expect(profiles.stdout).toContain('service_live_…9xQ2')
    expect(profiles.stdout + stdout + stderr).not.toContain(testKey)
    expect((await runCli(['logout'], { cwd })).stdout).toContain('Profile default is removed')
    expect((await runCli(['usage'], { cwd })).code).toBe(3)
  })

  it('names the page of the console that creates a key, and takes the key', async () => {
    const { code, stderr } = await login(testKey, '--console')
    const form = /\S+\/keys\?\S+/.exec(stderr)?.[0] ?? ''
    expect({ code, origin: new URL(form).origin }).toEqual({ code: 0, origin: service.origin })
    expect(new URL(form).searchParams.get('create')).toMatch(/^matte on ./)
    expect((await runCli(['usage'], { cwd })).code).toBe(0)
  })

  it('says that the service has no console', async () => {
    service.hasConsole = false
    const { code, stderr } = await login(testKey, '--console')
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('has no console') })
  })

  it('stores no key that the service rejects', async () => {
    const { code, stderr } = await login('service_live_wrong')
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining('The API key is invalid.') })
    expect(stderr).not.toContain('service_live_wrong')
    expect(() => statSync(join(cwd, '.config/matte/config.json'))).toThrow()
  })

  it('keeps several profiles, and switches between them', async () => {
    await login(testKey)
    await login(testKey, '--profile', 'staging')
    expect(parseLines((await runCli(['profiles', '--json'], { cwd })).stdout)).toMatchObject([
      { name: 'default', current: false },
      { name: 'staging', current: true },
    ])
    await runCli(['profiles', 'use', 'default'], { cwd })
    expect(JSON.parse(readFileSync(join(cwd, '.config/matte/config.json'), 'utf8')).current).toBe('default')
  })

  it('refuses a file that others can read', async () => {
    const path = join(cwd, '.config/matte/config.json')
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, '{}', { mode: 0o644 })
    const { code, stderr } = await runCli(['usage'], { cwd })
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(`Run: chmod 600 '${path}'`) })
  })
})

describe('tasks, webhooks, keys and usage', timeout, () => {
  const givenTask = async (): Promise<string> => {
    writeFileSync(join(cwd, 'photo.png'), png)
    await matte('cut', 'photo.png')
    return [...service.tasks.keys()].at(-1) ?? ''
  }

  it('lists, shows, cancels, retries, erases and downloads tasks', async () => {
    const id = await givenTask()
    const list = await matte('tasks', 'list')
    expect(list.stdout).toMatch(/^id +status +created +took +size +confidence +source\n/)
    expect(list.stdout).toContain(`${id}  succeeded  2026-11-21 09:30:00Z  320 ms  1×1 png  0.85        photo.png`)
    expect(parseLines((await matte('tasks', 'list', '--json')).stdout)).toMatchObject([{ id }])
    expect((await matte('tasks', 'list', '--status', 'failed')).stderr).toBe('There are no such tasks.\n')
    const check = ['tasks', 'list', '--max-confidence', '0.89']
    expect(parseLines((await matte(...check, '--json')).stdout)).toMatchObject([{ id, confidence: 0.85 }])
    expect((await matte(...check, '--min-confidence', '0.86')).stderr).toBe('There are no such tasks.\n')
    expect(await matte('tasks', 'list', '--max-confidence', '89')).toMatchObject({ code: 2 })
    expect((await matte('tasks', 'get', id)).stdout).toMatch(/confidence +0\.85\n.*result +http/s)
    expect((await matte('tasks', 'download', id, '--out', 'results')).stdout).toBe(`results/${id}.png\n`)
    expect(readFileSync(join(cwd, 'results', `${id}.png`))).toEqual(png)
    expect(await matte('tasks', 'download', id, '--out', 'results')).toMatchObject({ code: 2 })
    expect((await matte('tasks', 'cancel', id)).stdout).toBe(`${id} is canceled\n`)
    expect((await matte('tasks', 'retry', id)).stdout).toBe(`${id} is queued again\n`)
    expect((await matte('tasks', 'erase', id)).stdout).toBe(`the images of ${id} are erased\n`)
  })

  it('prints message, advice and request id of an unknown task, as text and as JSON', async () => {
    service.refuse = () => ({ status: 404, code: 'DEVELOPER_TASK_NOT_FOUND', message: 'There is no such task.' })
    const { code, stderr } = await matte('tasks', 'get', 'x')
    expect(code).toBe(4)
    expect(stderr).toBe(
      'matte: There is no such task. [DEVELOPER_TASK_NOT_FOUND]\n  Check the id: matte tasks list\n  request req-error\n',
    )
    const json = await matte('tasks', 'get', 'x', '--json')
    expect(JSON.parse(json.stderr).error).toMatchObject({ code: 'DEVELOPER_TASK_NOT_FOUND', requestId: 'req-error' })
    expect(json.stdout).toBe('')
  })

  it('creates an endpoint and prints its secret once', async () => {
    const { stdout, stderr } = await matte('webhooks', 'create', 'https://example.com/hook', '--events', 'task.failed')
    expect(stdout).toContain('signing secret  whsec_new')
    expect(stdout).toContain('events          task.failed')
    expect(stderr).toContain('Store the signing secret now')
  })

  it('gives an endpoint its own headers, from options and from a pipe', async () => {
    const args = ['webhooks', 'create', 'https://example.com/hook', '--header', 'X-Env: a:b', '--header-file', '-']
    const { stdout } = await runCli(args, { cwd: newFolder(), env: service.env, input: 'X-Token: abc\r\n\n' })
    expect(stdout).toContain('header          X-Env: a:b\nheader          X-Token: abc\n')
    const torn = await runCli(args, { cwd: newFolder(), env: service.env, input: 'my secret' })
    expect(torn).toMatchObject({ code: 2, stderr: expect.stringContaining('Line 1 of stdin is not a header.') })
    expect(torn.stderr).not.toContain('my secret')
  })

  it('lists endpoints, keys and usage', async () => {
    expect((await matte('webhooks', 'list')).stdout).toContain('https://example.com/hook')
    expect((await matte('keys', 'list')).stdout).toContain('production  service_live_…9xQ2')
    expect((await matte('usage')).stdout).toContain('quota            3 of 1000 used, 997 left until 2026-12-01')
    expect((await matte('credits')).stdout).toContain('812 left, 1 held for open tasks')
  })

  it('exits with 5 when the service cannot be reached', async () => {
    await service.stop()
    const { code, stderr } = await runCli(['doctor'], { cwd, env: service.env })
    expect({ code, stderr }).toMatchObject({ code: 5 })
  })

  it('prints its version, which is that of the package', async () => {
    const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
    expect((await matte('--version')).stdout).toBe(`${version}\n`)
    expect(version).toBe(manifest.version)
  })

  it('offers the nearest command for a misspelled one', async () => {
    const { code, stderr } = await matte('task', 'list')
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('Did you mean tasks?') })
  })
})

describe('matte doctor', timeout, () => {
  it('checks everything up to a cut-out, and exits with 0', async () => {
    const { code, stdout, stderr } = await matte('doctor')
    expect(stdout.split('\n').map((line) => line.slice(0, 10).trim())).toEqual([
      '✓ settings',
      '✓ reach',
      '– tls',
      '✓ clock',
      '✓ key',
      '✓ scopes',
      '✓ limits',
      '✓ store',
      '✓ cut-out',
      '',
    ])
    expect(stderr).toBe('\nEverything works.\n')
    expect(code).toBe(0)
    expect(service.creations).toHaveLength(1)
  })

  it('costs nothing with --no-cut', async () => {
    const { stdout } = await matte('doctor', '--no-cut')
    expect(stdout).toContain('– cut-out  left out')
    expect(service.creations).toHaveLength(0)
  })

  it('says what to do about a wrong key', async () => {
    const { code, stdout } = await runCli(['doctor'], { cwd, env: { ...service.env, MATTE_API_KEY: 'service_live_x' } })
    expect(code).toBe(3)
    expect(stdout).toContain('✗ key      The API key is invalid.')
    expect(stdout).toContain('then run: matte login')
  })

  it('says what to do about a wrong base URL', async () => {
    const env = { ...service.env, MATTE_BASE_URL: `${service.origin}/store/wrong` }
    const { code, stdout } = await runCli(['doctor', '--json'], { cwd, env })
    expect(code).toBe(5)
    expect(parseLines(stdout)).toContainEqual(
      expect.objectContaining({ check: 'reach', status: 'failed', advice: expect.stringContaining('/api/v1') }),
    )
  })

  it('says what to do without any settings', async () => {
    const { code, stdout } = await runCli(['doctor'], { cwd })
    expect({ code, stdout }).toEqual({ code: 3, stdout: expect.stringContaining('Run: matte login') })
  })
})
