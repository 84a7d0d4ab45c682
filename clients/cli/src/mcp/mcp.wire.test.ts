// `matte mcp` as a process, called by the official client.
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type FakeService, png, startFakeService } from '../testing/fake-service.fixtures.ts'
import { mainPath, newFolder } from '../testing/run-cli.fixtures.ts'
import { isPublicAddress } from './public-address.ts'

let service: FakeService
let root: string
let client: Client

beforeEach(async () => {
  service = await startFakeService()
  root = newFolder()
  mkdirSync(join(root, 'photos'))
  writeFileSync(join(root, 'photos/a.png'), png)
  writeFileSync(join(root, 'secret.png'), png)
})
afterEach(async () => {
  await client.close()
  await service.stop()
})

async function start(...args: string[]): Promise<Client> {
  client = new Client({ name: 'test', version: '1' })
  const env = { PATH: process.env.PATH ?? '', HOME: root, ...service.env }
  const options = { command: process.execPath, args: [mainPath, 'mcp', ...args], cwd: join(root, 'photos'), env }
  await client.connect(new StdioClientTransport(options))
  return client
}
const remove = (input: object) => client.callTool({ name: 'remove_background', arguments: { ...input } })

describe('matte mcp', { timeout: 60_000 }, () => {
  it('offers its tools', async () => {
    const { tools } = await (await start()).listTools()
    expect(tools.map(({ name }) => name)).toEqual(['remove_background', 'list_tasks', 'get_task'])
  })

  it('cuts a file of the current folder, and shows its task', async () => {
    await start()
    const result = await remove({ source: 'a.png', format: 'webp' })
    expect(result.isError).toBeFalsy()
    const { output, taskId } = result.structuredContent as { output: string; taskId: string }
    expect(output).toBe(join(root, 'photos/a-cutout.webp'))
    expect(readFileSync(output)).toEqual(png)
    const listed = await client.callTool({ name: 'list_tasks', arguments: { status: 'succeeded' } })
    expect(listed.structuredContent).toMatchObject({ tasks: [{ id: taskId }] })
    const shown = await client.callTool({ name: 'get_task', arguments: { id: taskId } })
    expect(shown.structuredContent).toMatchObject({ id: taskId, status: 'succeeded' })
  })

  it('reads and writes nothing outside the allowed folders, also not by links, and spends no credit', async () => {
    symlinkSync(join(root, 'secret.png'), join(root, 'photos/link.png'))
    symlinkSync(root, join(root, 'photos/up'))
    await start('--allow', join(root, 'photos'))
    const attempts = [
      { source: '../secret.png' },
      { source: join(root, 'secret.png') },
      { source: 'link.png' },
      { source: 'up/secret.png' },
      { source: 'a.png', output: '../out.png' },
      { source: 'a.png', output: 'up/out.png' },
      { source: 'a.png', output: 'up/new/out.png' },
      { source: 'a.png', output: 'link.png', overwrite: true },
    ]
    for (const attempt of attempts) {
      const { isError, content } = await remove(attempt)
      expect({ attempt, isError, content }).toMatchObject({ isError: true })
    }
    expect(service.requests).toEqual([])
    expect(readFileSync(join(root, 'secret.png'))).toEqual(png)
  })

  it('does not replace a file unless it is asked to', async () => {
    await start()
    await remove({ source: 'a.png' })
    expect(await remove({ source: 'a.png' })).toMatchObject({ isError: true })
    expect(service.creations).toHaveLength(1)
    expect((await remove({ source: 'a.png', overwrite: true })).isError).toBeFalsy()
  })

  it('fetches no URL of a private network unless the user allows it', async () => {
    const url = `${service.origin}/results/chair.png`
    await start()
    expect(await remove({ source: url })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('private network') }],
    })
    expect(service.requests).toEqual([])
    await client.close()
    await start('--allow-private-urls')
    const result = await remove({ source: url })
    expect(result.structuredContent).toMatchObject({ output: join(root, 'photos/chair-cutout.png') })
  })

  it('reports an error of the service with what to do', async () => {
    service.refuse = (_method, path) =>
      path === '/tasks' ? { status: 400, code: 'CREDITS_INSUFFICIENT', message: 'No credits.' } : undefined
    await start()
    expect(await remove({ source: 'a.png' })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('Buy credits') }],
    })
  })
})

describe('public addresses', () => {
  it.each([
    ['93.184.216.34', true],
    ['2606:4700::1111', true],
    ['127.0.0.1', false],
    ['10.1.2.3', false],
    ['169.254.169.254', false],
    ['100.64.0.1', false],
    ['::1', false],
    ['::ffff:93.184.216.34', false],
    ['64:ff9b::7f00:1', false],
    ['fd00::1', false],
    ['2002:7f00:1::', false],
    ['example.com', false],
  ])('%s is public: %s', (address, isPublic) => {
    expect(isPublicAddress(address)).toBe(isPublic)
  })
})
