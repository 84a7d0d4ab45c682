// A fresh service with its settings as they come, a key, and programs that run as a user of remove.bg has them.
import { copyFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { rootDir } from '@matte/local/paths'
import { nodePath } from '@matte/local/servers/process'
import { givenWorkspace } from '@matte/test/support/factories.ts'
import { lemur } from '@matte/test/support/photos.ts'
import { useStack } from '@matte/test/support/stack.ts'
import sharp from 'sharp'
import { beforeAll, expect, inject } from 'vitest'
import { type Ended, startProgram } from '../support/program.ts'

export const cli = join(rootDir, 'clients/cli/src/main.ts')
export const samples = join(import.meta.dirname, 'samples')

type Env = Readonly<Record<string, string>>

export type DoorPlace = {
  /** URL of the service. */
  readonly url: string
  readonly apiKey: string
  /** A folder with `photo.png`, and with files of `samples/`. */
  folder(...files: string[]): string
  /** Runs a program to its end, with the key where a program of remove.bg has its own. */
  run(command: readonly string[], cwd: string, env?: Env): Promise<Ended>
  /** The same behind `matte door`. */
  behindDoor(command: readonly string[], cwd: string, env?: Env): Promise<Ended>
}

/** Use it inside tests and hooks only. */
export function useDoorPlace(): DoorPlace {
  const stack = useStack({ processes: ['api', 'worker'] })
  let apiKey = ''
  beforeAll(async () => {
    const { id: workspaceId } = await givenWorkspace(stack.db, { plan: 'pro', credits: 1_000 })
    const key = generateApiKey()
    await insertApiKey(stack.db, key, { workspaceId, name: 'door', scopes, expiresAt: null })
    apiKey = key.key
  })
  const run = ([command = '', ...args]: readonly string[], cwd: string, env: Env = {}): Promise<Ended> =>
    startProgram(command, args, { cwd, env: { REMOVE_BG_API_KEY: apiKey, ...env } }).ended
  return {
    get url() {
      return stack.process('api').url
    },
    get apiKey() {
      return apiKey
    },
    folder: (...files) => {
      const dir = mkdtempSync(join(inject('runDir'), 'leaving-'))
      writeFileSync(join(dir, 'photo.png'), lemur())
      for (const file of files) copyFileSync(join(samples, file), join(dir, file))
      return dir
    },
    run,
    behindDoor: (command, cwd, env) =>
      run([nodePath, cli, 'door', '--url', stack.process('api').url, '--listen', '--', ...command], cwd, env),
  }
}

/** The program ended well, and wrote the photo's cut-out. */
export async function expectCutOut({ code, stdout, stderr }: Ended, file: string): Promise<void> {
  expect(code, `${stdout}${stderr}`).toBe(0)
  const { width, height } = await sharp(lemur()).metadata()
  expect(await sharp(readFileSync(file)).metadata()).toMatchObject({ format: 'png', width, height, hasAlpha: true })
}
