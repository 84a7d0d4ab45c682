// matte leave-removebg as a process, on a code base of this test and against services of this one.
import { chmodSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { newFolder, parseLines, runCli } from '../testing/run-cli.fixtures.ts'

const timeout = { timeout: 60_000 }
const url = 'https://matte.example.com'
const old = 'https://api.remove.bg/v1.0/removebg'

let servers: Server[] = []
afterEach(() => {
  for (const server of servers) server.close().closeAllConnections()
  servers = []
})

function given(files: Readonly<Record<string, string | Buffer>>): string {
  const dir = newFolder()
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(dir, path, '..'), { recursive: true })
    writeFileSync(join(dir, path), content)
  }
  return dir
}

const leave = (dir: string, ...args: string[]) => runCli(['leave-removebg', dir, ...args], {})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('matte leave-removebg', timeout, () => {
  it('prints file, line and change, and changes nothing without --write', async () => {
    const dir = given({ 'src/cut.js': `\nfetch('${old}')\n`, '.env': 'REMOVE_BG_API_KEY=s3cret\n' })
    const { code, stdout, stderr } = await leave(dir, '--url', url)
    expect(stdout).toMatch(/^src\/cut\.js:2 +endpoint +https:\/\/api\.remove\.bg +→ https:\/\/matte\.example\.com$/m)
    expect(stdout).toMatch(/^\.env:1 +variable +REMOVE_BG_API_KEY +by hand: put a key of Matte here$/m)
    expect(stderr).toContain('2 uses of remove.bg in 2 files: 1 change to write')
    expect(stdout + stderr).not.toContain('s3cret')
    expect(code).toBe(1)
    expect(readFileSync(join(dir, 'src/cut.js'), 'utf8')).toContain(old)
  })

  it('makes the changes with --write, and has nothing left to write then', async () => {
    const dir = given({ 'a/cut.sh': `curl ${old}\r\n`, 'b.py': `URL = "${old}"` })
    chmodSync(join(dir, 'a/cut.sh'), 0o750)
    expect((await leave(dir, '--url', 'http://127.0.0.1:9', '--json')).stdout).toContain('"written":false')
    const written = parseLines((await leave(dir, '--url', `${url}/api/v1`, '--write', '--json')).stdout)
    expect(written).toMatchObject([
      { file: 'a/cut.sh', line: 1, written: true },
      { file: 'b.py', line: 1, written: true },
    ])
    expect(readFileSync(join(dir, 'a/cut.sh'), 'utf8')).toBe(`curl ${url}/v1.0/removebg\r\n`)
    expect(statSync(join(dir, 'a/cut.sh')).mode & 0o777).toBe(0o750)
    expect(await leave(dir, '--url', url)).toMatchObject({ code: 0, stdout: '' })
  })

  it('never touches binaries, links, lock files, .git and node_modules', async () => {
    const files = {
      '.git/config': old,
      'node_modules/remove.bg/index.js': old,
      'web/node_modules/x/index.js': old,
      'package-lock.json': `"${old}"`,
      'photo.bin': Buffer.concat([Buffer.from(old), Buffer.from([0, 1])]),
      'control.bin': Buffer.concat([Buffer.from(old), Buffer.from([0xe4, 1])]),
    }
    const dir = given(files)
    const outside = given({ 'outside.js': old })
    symlinkSync(join(outside, 'outside.js'), join(dir, 'link.js'))
    symlinkSync(outside, join(dir, 'linked'))
    expect(await leave(dir, '--url', url, '--write')).toMatchObject({ code: 0, stdout: '' })
    for (const [path, content] of Object.entries(files)) {
      expect(readFileSync(join(dir, path)).equals(Buffer.from(content)), path).toBe(true)
    }
    expect(readFileSync(join(outside, 'outside.js'), 'utf8')).toBe(old)
    expect(lstatSync(join(dir, 'link.js')).isSymbolicLink()).toBe(true)
  })

  it.each([
    ['of one byte a character', (text: string) => Buffer.from(text, 'latin1')],
    ['in UTF-16', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')],
    ['in UTF-16, big-endian', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16()],
  ])('changes text %s, and keeps its encoding', async (_encoding, encode) => {
    const dir = given({ 'caf\u00e9.cs': encode(`// caf\u00e9\r\nvar u = "${old}";\r\n`) })
    expect(await leave(dir, '--url', url, '--write')).toMatchObject({ code: 0 })
    const changed = encode(`// caf\u00e9\r\nvar u = "${url}/v1.0/removebg";\r\n`)
    expect(readFileSync(join(dir, 'caf\u00e9.cs')).equals(changed)).toBe(true)
  })

  it('names files that hold the host and that it leaves alone', async () => {
    const files = {
      'tool.exe': Buffer.concat([Buffer.from([0]), Buffer.from(old)]),
      'tool.dll': Buffer.concat([Buffer.from([0]), Buffer.from(old, 'utf16le')]),
      'other.exe': Buffer.from([0, 1, 2]),
      'big.json': Buffer.concat([Buffer.alloc(4_260_000, '-'), Buffer.from(old)]),
      'other.json': Buffer.alloc(4_260_000, '-'),
    }
    const dir = given(files)
    const { code, stderr } = await leave(dir, '--url', url, '--write')
    expect(code).toBe(0)
    expect(stderr).toContain('left alone: tool.exe holds api.remove.bg and is no text')
    expect(stderr).toContain('left alone: tool.dll holds api.remove.bg and is no text')
    expect(stderr).toContain('left alone: big.json holds api.remove.bg and is larger than 4 MiB')
    expect(stderr).not.toContain('other')
    for (const [path, content] of Object.entries(files))
      expect(readFileSync(join(dir, path)).equals(content)).toBe(true)
  })

  it('does not replace a file without write permission', async () => {
    const dir = given({ 'a.sh': old, 'b.sh': old })
    chmodSync(join(dir, 'a.sh'), 0o444)
    const { code, stdout, stderr } = await leave(dir, '--url', url, '--write')
    expect(stderr).toContain('not written: a.sh: no write permission')
    expect(stdout).toMatch(/^a\.sh:1 .*→/m)
    expect(stdout).toMatch(/^b\.sh:1 .*✓/m)
    expect(stderr).toContain('1 change written; 1 place is left to you')
    expect(code).toBe(1)
    expect(readFileSync(join(dir, 'a.sh'), 'utf8')).toBe(old)
  })

  it('refuses to write without a URL, to search no folder, and to move to remove.bg', async () => {
    const dir = given({ 'a.js': old })
    expect(await leave(dir, '--write')).toMatchObject({ code: 2, stderr: expect.stringContaining('--url') })
    expect(await leave(dir)).toMatchObject({ code: 1, stdout: expect.stringContaining('add --url') })
    expect(await leave(join(dir, 'a.js'), '--url', url)).toMatchObject({ code: 2 })
    expect(await leave(join(dir, 'none'), '--url', url)).toMatchObject({ code: 2 })
    expect(await leave(dir, '--url', 'https://api.remove.bg')).toMatchObject({ code: 2 })
    expect(await leave(dir, '--url', 'matte.example.com')).toMatchObject({ code: 2 })
  })
})

describe('matte leave-removebg --check', timeout, () => {
  /** A service that refuses every key but one, and answers nothing else as remove.bg does. */
  const door: RequestListener = (request, response) => {
    const isKnown = request.headers['x-api-key'] === 'right'
    response.writeHead(isKnown ? 200 : 403, { 'content-type': 'application/json' })
    response.end(isKnown ? '{}' : '{"errors":[{"title":"API Key invalid","code":"auth_failed"}]}')
  }
  const check = (args: string[], options: { env?: Record<string, string>; input?: string } = {}) =>
    runCli(['leave-removebg', '--check', ...args], options)

  it('prints a table with a total, and exits with 1 if a response differs', async () => {
    const { code, stdout } = await check([await serve(door)], { env: { MATTE_API_KEY: 'right' } })
    expect(stdout).toMatch(/^key is wrong +403 auth_failed +✓$/m)
    expect(stdout).toMatch(/^format=webp +200 webp 680×440 +✗ no image$/m)
    expect(stdout).toMatch(/^\d+ of 64 checks passed/m)
    expect(code).toBe(1)
  })

  it('takes the key from the environment, a pipe or an argument, and prints it never', async () => {
    const service = await serve(door)
    for (const ended of [
      await check([service], { env: { MATTE_API_KEY: 'wrong-s3cret' } }),
      await check([service, '-'], { input: 'wrong-s3cret\n' }),
      await check([service, 'wrong-s3cret']),
    ]) {
      expect(ended).toMatchObject({ code: 3, stderr: expect.stringContaining('refuses the API key') })
      expect(ended.stdout + ended.stderr).not.toContain('s3cret')
    }
    expect(await check([service])).toMatchObject({ code: 3, stderr: expect.stringContaining('MATTE_API_KEY') })
    const torn = await check([service, 's3cret with a space'])
    expect(torn).toMatchObject({ code: 3 })
    expect(torn.stderr).not.toContain('s3cret')
  })

  it('says that there is no door, or no service', async () => {
    const service = await serve((_request, response) => void response.writeHead(404).end('{}'))
    expect(await check([service, 'right'])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('doors.removebg'),
    })
    for (const server of servers) server.close().closeAllConnections()
    expect(await check([service, 'right'])).toMatchObject({ code: 5 })
    expect(await check([service, 'right', 'more'])).toMatchObject({ code: 2 })
  })
})
