import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { RequestOptions } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readInCluster } from './cluster-access.ts'

describe('access to the API server from a pod', () => {
  let folder: string
  let nowMs: number
  const write = (files: Readonly<Record<string, string>>): void => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  }
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'matte-account-'))
    nowMs = 0
    write({ token: 'one\n', 'ca.crt': 'first', namespace: 'matte\n' })
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const env = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '6443' }
  const open = (variables: Readonly<Record<string, string>> = env) =>
    readInCluster({ env: variables, clock: { monotonicMs: () => nowMs }, folder })
  const sent = async (access: ReturnType<typeof open>): Promise<unknown> => {
    const options: RequestOptions = { headers: { accept: 'json' } }
    await access?.config.applyToHTTPSOptions(options)
    return options
  }

  it.each([
    ['10.96.0.1', '6443', 'https://10.96.0.1:6443'],
    ['fd00::1', '443', 'https://[fd00::1]:443'],
    ['api.example', undefined, 'https://api.example:443'],
  ])('of host %s and port %s is at %s', (host, port, server) => {
    const variables = { KUBERNETES_SERVICE_HOST: host, ...(port && { KUBERNETES_SERVICE_PORT: port }) }
    expect(open(variables)?.config.getCurrentCluster()).toEqual({ server })
  })

  it('has the namespace and the credentials of the files', async () => {
    const access = open()
    expect(access?.namespace).toBe('matte')
    expect(await sent(access)).toEqual({ ca: 'first', headers: { accept: 'json', authorization: 'Bearer one' } })
  })

  it('reads a rotated token and CA after a minute, not at each request', async () => {
    const access = open()
    await sent(access)
    write({ token: 'two', 'ca.crt': 'second' })
    nowMs = 59_999
    expect(await sent(access)).toMatchObject({ ca: 'first', headers: { authorization: 'Bearer one' } })
    nowMs = 60_000
    expect(await sent(access)).toMatchObject({ ca: 'second', headers: { authorization: 'Bearer two' } })
  })

  it('is absent outside a pod, and in a pod without a token', () => {
    expect(open({})).toBeUndefined()
    rmSync(join(folder, 'token'))
    expect(open()).toBeUndefined()
  })

  it('fails when a file is missing, and reads again for the next request', async () => {
    const access = open()
    rmSync(join(folder, 'ca.crt'))
    await expect(sent(access)).rejects.toThrow('ca.crt')
    write({ 'ca.crt': 'back' })
    expect(await sent(access)).toMatchObject({ ca: 'back' })
  })
})
