// The last line of `make up`, and the first screen of the README: one command cuts out a photo of the user.
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { cutOutCommand, readEnvKey, writeEnvFile } from '@matte/local/env-file'
import { rootDir } from '@matte/local/paths'
import sharp from 'sharp'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lemur } from '../support/photos.ts'
import { useStack } from '../support/stack.ts'

const run = promisify(execFile)
/** The shell of Debian and Ubuntu, where it is not the same as bash. */
const dash = '/bin/dash'

const stack = useStack({ processes: ['api', 'worker'] })
let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "matte's env-"))
})
afterEach(() => rm(folder, { recursive: true }))

async function givenEnv(name = '.local'): Promise<string> {
  const key = generateApiKey()
  const { workspaceId } = stack
  await insertApiKey(stack.db, key, { workspaceId, name: 'local', scopes: ['tasks:write'], expiresAt: null })
  const envFile = join(folder, name, 'env')
  mkdirSync(join(folder, name))
  writeEnvFile(envFile, { baseUrl: `${stack.process('api').url}/api/v1`, apiKey: key.key })
  expect(readEnvKey(envFile)).toBe(key.key)
  return envFile
}

async function expectCutOut(command: string): Promise<void> {
  writeFileSync(join(folder, 'photo.jpg'), await sharp(lemur()).jpeg().toBuffer())
  await run(dash, ['-c', command], { cwd: folder })
  expect(await sharp(readFileSync(join(folder, 'cut-out.png'))).metadata()).toMatchObject({
    format: 'png',
    channels: 4,
  })
}

describe('.local/env', () => {
  it('exports both variables to programs that dash starts', async () => {
    const envFile = await givenEnv()
    const { stdout } = await run(dash, ['-c', `. "$1"; env`, 'sh', envFile])
    expect(stdout).toContain(`MATTE_BASE_URL=${stack.process('api').url}/api/v1\n`)
    expect(stdout).toMatch(/^MATTE_API_KEY=service_live_/m)
  })

  it('is read by the next `make up`, also as a former release wrote it', async () => {
    const envFile = await givenEnv()
    writeFileSync(envFile, 'MATTE_BASE_URL=http://127.0.0.1:8080/api/v1\nMATTE_API_KEY=service_live_former\n')
    expect(readEnvKey(envFile)).toBe('service_live_former')
    expect(readEnvKey(join(folder, 'none'))).toBeUndefined()
  })
})

describe('one command to paste', () => {
  it('of `make up` cuts out a photo in dash, whatever the path of the installation', async () => {
    await expectCutOut(cutOutCommand(await givenEnv('my files')))
  })

  it('of the README does the same', async () => {
    await givenEnv()
    const readme = readFileSync(join(rootDir, 'README.md'), 'utf8')
    const [, command = ''] = /^make up\n(.*)$/m.exec(readme) ?? []
    await expectCutOut(command)
  })
})
