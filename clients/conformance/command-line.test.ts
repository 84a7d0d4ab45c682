// The command line against a whole service: a folder of photos through two crashes, events on this machine, and the
// tools of an assistant.
import { mkdtempSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { nodePath } from '@matte/local/servers/process'
import { findBrokenRules } from '@matte/test/support/invariants.ts'
import { type Receiver, startReceiver } from '@matte/test/support/receiver.ts'
import { until } from '@matte/test/support/until.ts'
import { verifySignature } from '@matte/test/support/verify-signature.ts'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import sharp from 'sharp'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { writeInputs, writePhotos } from './support/inputs.ts'
import { type Program, runProgram, startProgram } from './support/program.ts'
import { useService } from './support/service.ts'

const program = join(rootDir, 'clients/cli/src/main.ts')
const photos = 200

describe('the command line', () => {
  const service = useService()
  const ends: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end()
  })

  const emptyFolder = (): string => mkdtempSync(join(inject('runDir'), 'command-line-'))
  const envOf = (apiKey: string) => ({ MATTE_API_KEY: apiKey, MATTE_BASE_URL: `${service.origin}/api/v1` })

  async function given() {
    const workspace = await service.createWorkspace()
    const options = { cwd: emptyFolder(), env: envOf(workspace.apiKey) }
    return {
      workspace,
      ...options,
      start: (...args: string[]): Program => {
        const started = startProgram(nodePath, [program, ...args], options)
        ends.push(() => started.kill())
        return started
      },
      run: (...args: string[]) => runProgram(nodePath, [program, ...args], options),
    }
  }

  it('cuts a folder of 200 photos that is killed twice and resumed: 200 results, 200 credits', async () => {
    const { workspace, cwd, start, run } = await given()
    await writePhotos(join(cwd, 'photos'), photos)
    const results = (): string[] => readdirIfThere(join(cwd, 'cut')).filter((name) => !name.startsWith('.'))
    const cut = ['cut', 'photos/', '--out', 'cut/', '--format', 'webp', '--jobs', 'auto'] as const
    for (const enough of [photos / 4, (photos * 2) / 4]) {
      const killed = start(...cut)
      await until(`${enough} results are there`, () => results().length >= enough)
      await killed.kill('SIGKILL')
      expect(results().length).toBeLessThan(photos)
    }
    await run(...cut)
    expect(results()).toHaveLength(photos)
    for (const name of results()) {
      expect(await sharp(join(cwd, 'cut', name)).metadata()).toMatchObject({ format: 'webp', width: 24, height: 24 })
    }
    const account = await service.settle(workspace.id)
    expect(account).toEqual({ tasks: photos, succeeded: photos, spent: photos, held: 0 })
    expect(await findBrokenRules(service.stack.db)).toEqual({})
  })

  it('cuts what comes through a pipe', async () => {
    const { cwd, env, workspace } = await given()
    await writeInputs(cwd)
    await runProgram('sh', ['-c', `"${nodePath}" "${program}" cut - < photo.jpg > cut.png`], { cwd, env })
    expect(await sharp(join(cwd, 'cut.png')).metadata()).toMatchObject({ format: 'png', hasAlpha: true })
    expect(await service.settle(workspace.id)).toMatchObject({ tasks: 1, spent: 1 })
  })

  it('says by its exit code and in words that a key is wrong', async () => {
    const { cwd } = await given()
    await writeInputs(cwd)
    const env = envOf('service_live_0000000000000000000000000000000000000')
    const { code, stderr } = await startProgram(nodePath, [program, 'cut', 'photo.png'], { cwd, env }).ended
    expect(code).toBe(3)
    expect(stderr).toMatch(/key/i)
  })

  it('forwards events to a receiver on this machine, which verifies them', async () => {
    const { start, run, cwd } = await given()
    await writeInputs(cwd)
    const receiver: Receiver = await startReceiver()
    ends.push(() => receiver.close())
    const listening = start('webhooks', 'listen', '--forward-to', receiver.url)
    const [secret] = await listening.untilPrinted(/whsec_[A-Za-z0-9+/=]+/)
    await run('cut', 'photo.png')
    await run('webhooks', 'trigger', 'task.failed')
    const webhooks = await receiver.until(2)
    const events = webhooks.map(({ headers, bytes }) => {
      const signature = String(headers['x-service-signature'])
      expect(verifySignature(signature, bytes.toString(), secret, { nowSeconds: Date.now() / 1_000 })).toBe(true)
      expect(verifySignature(signature, `${bytes.toString()} `, secret)).toBe(false)
      return (JSON.parse(bytes.toString()) as { event: string }).event
    })
    expect(events.sort()).toEqual(['task.failed', 'task.succeeded'])
  })

  it('gives an assistant the tools to cut a file and to list tasks', async () => {
    const { cwd, env, workspace } = await given()
    await writeInputs(cwd)
    const client = new Client({ name: 'conformance', version: '1.0.0' })
    const transport = new StdioClientTransport({ command: nodePath, args: [program, 'mcp'], cwd, env })
    await client.connect(transport)
    ends.push(() => client.close())
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['remove_background', 'list_tasks']))
    const cut = await client.callTool({
      name: 'remove_background',
      arguments: { source: 'photo.png', output: 'cut-out.png' },
    })
    expect(cut.isError, JSON.stringify(cut)).toBeFalsy()
    expect(await sharp(join(cwd, 'cut-out.png')).metadata()).toMatchObject({ format: 'png', hasAlpha: true })
    const listed = await client.callTool({ name: 'list_tasks', arguments: { status: 'succeeded' } })
    expect(JSON.stringify(listed)).toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-4/)
    expect(await service.settle(workspace.id)).toMatchObject({ tasks: 1, spent: 1 })
  })
})

function readdirIfThere(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}
