import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isPortFree } from '@matte/local/lifecycle/free-ports'
import { pidFileOf, readLiveRecord, readRecord, stopProcess, writeRecord } from '@matte/local/lifecycle/pid-file'
import { identify, isAlive, listHelpers } from '@matte/local/lifecycle/process-group'
import { startServer } from '@matte/local/lifecycle/server'
import { rootDir } from '@matte/local/paths'
import { installNats, startNats } from '@matte/local/servers/nats'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePorts, nodeEnv } from '../support/free-ports.ts'
import { until } from '../support/until.ts'

const quiet = (): void => {}
let localDir: string
let bystander: ChildProcess | undefined

beforeEach(() => {
  localDir = mkdtempSync(join(tmpdir(), 'matte-local-'))
})
afterEach(async () => {
  bystander?.kill('SIGKILL')
  await makeDown()
  rmSync(localDir, { recursive: true, force: true })
})

describe('a process started for make up', () => {
  it('keeps running on a second start, restarts with other settings, and stops with make down', async () => {
    const installation = await installNats(quiet)
    const [client = 0, monitor = 0, otherClient = 0] = await freePorts(3)
    const pidFile = pidFileOf(join(localDir, 'run'), 'nats')
    const start = (port: number) =>
      startNats({
        installation,
        dataDir: join(localDir, 'data'),
        ports: { client: port, monitor },
        logFile: join(localDir, 'log/nats.log'),
        lifetime: 'detached',
        pidFile,
      })
    const first = await start(client)
    expect((await start(client)).pid).toBe(first.pid)

    const moved = await start(otherClient)
    expect(moved.pid).not.toBe(first.pid)
    expect(identify(first.pid)).toBeUndefined()

    expect(await makeDown()).toBe('stopped nats\n')
    expect(identify(moved.pid)).toBeUndefined()
    expect(existsSync(pidFile)).toBe(false)
    expect(await makeDown()).toBe('Nothing was running.\n')
  })
})

describe('the helpers of a killed server', () => {
  const pidFile = () => pidFileOf(join(localDir, 'run'), 'parent')
  const start = () =>
    startServer({
      name: 'parent',
      command: '/bin/sh',
      // Node of this checkout: only programs of the checkout count as helpers.
      args: ['-c', '"$0" -e "setInterval(() => {}, 1000)" & wait', process.execPath],
      env: {},
      url: '',
      ports: [],
      logFile: join(localDir, 'parent.log'),
      lifetime: 'detached',
      pidFile: pidFile(),
      ready: async () => listHelpers(readRecord(pidFile())?.pid ?? 0).length === 1,
    })

  let helpers: readonly number[] = []
  afterEach(() => {
    for (const helper of helpers) if (identify(helper)) process.kill(helper, 'SIGKILL')
  })

  async function givenHelpersLeftBehind(): Promise<number> {
    const { pid } = await start()
    helpers = listHelpers(pid)
    process.kill(pid, 'SIGKILL')
    await until('the server has ended', () => identify(pid) === undefined)
    expect(listHelpers(pid)).toHaveLength(1)
    return pid
  }

  it('end with make down', async () => {
    const pid = await givenHelpersLeftBehind()
    expect(await makeDown()).toBe('stopped parent\n')
    expect(listHelpers(pid)).toEqual([])
  })

  it('end with the next start', async () => {
    const pid = await givenHelpersLeftBehind()
    const next = await start()
    expect(next.pid).not.toBe(pid)
    expect(listHelpers(pid)).toEqual([])
    expect(listHelpers(next.pid)).toHaveLength(1)
  })

  it('are not killed if only their number is in a pid file', async () => {
    const pid = await givenHelpersLeftBehind()
    const record = readRecord(pidFile())
    if (!record) throw new Error('the server has no record')
    writeRecord(pidFile(), { ...record, born: 'another boot/1' })
    expect(await makeDown()).toBe('Nothing was running.\n')
    expect(listHelpers(pid)).toHaveLength(1)
    await stopProcess(record)
    expect(listHelpers(pid)).toEqual([])
  })
})

describe('make down', () => {
  it('never signals a process that only inherited the number in a pid file', async () => {
    bystander = spawn('sleep', ['600'])
    const pid = bystander.pid ?? 0
    const record = {
      pid,
      born: 'another boot/1',
      name: 'api',
      stopSignal: 'SIGKILL' as const,
      stopTimeoutMs: 1_000,
      leftovers: [],
      ports: [],
      fingerprint: '',
    }
    writeRecord(pidFileOf(join(localDir, 'run'), 'api'), record)
    expect(readLiveRecord(pidFileOf(join(localDir, 'run'), 'api'))).toBeUndefined()
    expect(await makeDown()).toBe('Nothing was running.\n')
    expect(identify(pid)).toBeDefined()
  })

  it('kills a process that does not stop within its limit', async () => {
    bystander = spawn('sh', ['-c', 'trap "" TERM; echo trapped; while :; do sleep 1; done'], { detached: true })
    await new Promise((resolve) => bystander?.stdout?.once('data', resolve))
    const identity = identify(bystander.pid ?? 0)
    if (!identity) throw new Error('the process has not started')
    const settings = { name: 'stubborn', stopSignal: 'SIGTERM' as const, stopTimeoutMs: 100 }
    await stopProcess({ ...identity, ...settings, leftovers: [], ports: [], fingerprint: '' })
    expect(isAlive(identity)).toBe(false)
  })
})

describe('ports of processes that have just ended', () => {
  let helper = 0
  const release = (): void => {
    if (identify(helper)) process.kill(helper, 'SIGKILL')
  }
  afterEach(release)

  /** A process whose helper leaves its group and keeps the port until its release, or for a minute. */
  const startWithHelper = async (port: number) => {
    const program = `setTimeout(() => process.exit(), 60_000)
      require('net').createServer().listen(${port}, '127.0.0.1', () => console.log(process.pid))`
    const args = JSON.stringify(['-e', program])
    const script = `require('child_process').spawn(process.execPath, ${args}, { stdio: 'inherit', detached: true })`
    bystander = spawn(process.execPath, ['-e', `${script}; setInterval(() => {}, 1_000)`], { detached: true })
    helper = Number(await new Promise((resolve) => bystander?.stdout?.once('data', resolve)))
    const identity = identify(bystander.pid ?? 0)
    if (!identity) throw new Error('the process has not started')
    const settings = { name: 'nats', stopSignal: 'SIGTERM' as const, stopTimeoutMs: 5_000, leftovers: [] }
    const record = { ...identity, ...settings, ports: [port], fingerprint: '' }
    writeRecord(pidFileOf(join(localDir, 'run'), 'nats'), record)
    return record
  }
  const releaseWhenWaiting = (stdout: string): void => {
    if (stdout.includes('waiting up to')) release()
  }

  it('are free when make down returns', async () => {
    const [port = 0] = await freePorts(1)
    await startWithHelper(port)
    expect(await makeDown(releaseWhenWaiting)).toBe(`waiting up to 15 s until ${port} is free …\nstopped nats\n`)
    expect(await isPortFree(port)).toBe(true)
  })

  it('are awaited by make up, which refuses only a port of another program', async () => {
    const [port = 0, other = 0] = await freePorts(2)
    const holder = createServer().listen(other, '127.0.0.1')
    await stopProcess(await startWithHelper(port))
    const ports = { MATTE_NATS_PORT: String(port), MATTE_NATS_MONITOR_PORT: String(other) }
    const { stdout, stderr } = await run('local/src/up.ts', ports, releaseWhenWaiting)
    holder.close()
    expect(stdout).toContain(`waiting up to 15 s until ${port} is free …`)
    expect(stderr).toContain(`Port ${other} (health of NATS) is in use by another program`)
    expect(stderr).not.toContain(`Port ${port} `)
  })
})

describe('an attached server', () => {
  it('ends with its program even if that is killed', async () => {
    const { program } = await installNats(quiet)
    const [client = 0, monitor = 0] = await freePorts(2)
    const options = {
      installation: { program },
      dataDir: join(localDir, 'data'),
      ports: { client, monitor },
      logFile: join(localDir, 'nats.log'),
      lifetime: 'attached',
    }
    const script = `
      import { startNats } from ${JSON.stringify(join(rootDir, 'local/src/servers/nats.ts'))}
      const { pid } = await startNats(${JSON.stringify(options)})
      process.stdout.write(String(pid))
      setInterval(() => {}, 1_000)`
    bystander = spawn(process.execPath, ['--input-type=module', '-e', script])
    const said = await new Promise<Buffer>((resolve) => bystander?.stdout?.once('data', resolve))
    const server = Number(said)
    expect(identify(server)).toBeDefined()
    bystander.kill('SIGKILL')
    await until('the server has ended', () => identify(server) === undefined)
  })
})

describe('make up', () => {
  it('names a taken port and its variable before it starts anything', async () => {
    const [client = 0, monitor = 0, other = 0] = await freePorts(3)
    const installation = await installNats(quiet)
    const files = { dataDir: join(localDir, 'taken'), logFile: join(localDir, 'taken.log') }
    const ports = { client, monitor }
    const holder = await startNats({ ...files, installation, ports, lifetime: 'attached' })
    const { code, stderr } = await run('local/src/up.ts', {
      MATTE_NATS_PORT: String(client),
      MATTE_NATS_MONITOR_PORT: String(other),
    })
    await holder.stop()
    expect(code).toBe(1)
    expect(stderr).toContain(`Port ${client} (NATS) is in use by another program: set MATTE_NATS_PORT to a free port.`)
    expect(existsSync(join(localDir, 'data'))).toBe(false)
  })
})

async function makeDown(onOutput?: (stdout: string) => void): Promise<string> {
  const { stdout, stderr } = await run('local/src/down.ts', {}, onOutput)
  return stdout + stderr
}

type Outcome = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

/** `onOutput` gets the whole standard output after each part of it. */
function run(
  script: string,
  env: Readonly<Record<string, string>>,
  onOutput?: (stdout: string) => void,
): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join(rootDir, script)], {
      env: { ...nodeEnv(), MATTE_LOCAL_DIR: localDir, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString()
      onOutput?.(stdout)
    })
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}
