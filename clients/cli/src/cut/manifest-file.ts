// The manifest in the folder of results, shared with the client, and the lock that keeps a second run away.

import { realpathSync } from 'node:fs'
import { mkdir, open, readFile, rm } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join, relative, resolve, sep } from 'node:path'
import type { ManifestStore } from 'matte-client'
import { usageError } from '../cli-error.ts'
import { hashOf, manifestName, parseResults, type ResultLine } from './results.ts'
import { checkWritable } from './save-result.ts'

export type ResultManifest = {
  /** For the client, which appends its own lines. */
  readonly store: ManifestStore
  keyOf(path: string): string
  find(key: string): ResultLine | undefined
  record(line: ResultLine): Promise<void>
  close(): Promise<void>
}

/** @throws CliError while another run writes to the folder */
export async function openManifest(folder: string): Promise<ResultManifest> {
  await checkWritable(folder)
  await mkdir(folder, { recursive: true })
  const lock = await lockFolder(folder)
  const path = join(folder, manifestName)
  // It names tasks, so only its owner reads it.
  const handle = await open(path, 'a', 0o600)
  const results = parseResults(await readFile(path, 'utf8'))
  const append = async (text: string): Promise<void> => {
    await handle.appendFile(text)
    await handle.datasync()
  }
  return {
    store: { read: () => readFile(path, 'utf8'), append },
    keyOf: (file) => keyOf(folder, file),
    find: (key) => results.get(key),
    record: async (line) => {
      results.set(line.result, line)
      await append(`${JSON.stringify(line)}\n`)
    },
    close: async () => {
      await handle.close()
      lock.close()
    },
  }
}

/** Path of a result below the folder of its manifest. */
export const keyOf = (folder: string, file: string): string =>
  relative(resolve(folder), resolve(file)).split(sep).join('/')

/** Results of earlier runs; empty if there is no manifest. */
export async function readResults(folder: string): Promise<Map<string, ResultLine>> {
  return parseResults(await readFile(join(folder, manifestName), 'utf8').catch(() => ''))
}

/**
 * A socket, because the system ends its listener with the process, even after kill -9; a lock file would stay.
 * Two runs in one folder could pay for the same image.
 */
async function lockFolder(folder: string): Promise<Server> {
  const name = `matte-${process.getuid?.() ?? ''}-${hashOf(realpathSync(folder)).slice(0, 24)}`
  const path = process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : join(tmpdir(), `${name}.sock`)
  const lock = (await tryListen(path)) ?? (await retryAfterCrash(path))
  if (lock === undefined) {
    throw usageError(`Another matte cut writes to ${folder}.`, 'Wait until it ends, or choose another --out.')
  }
  return lock
}

async function retryAfterCrash(path: string): Promise<Server | undefined> {
  if (await isAnswered(path)) return undefined
  await rm(path, { force: true })
  return tryListen(path)
}

const tryListen = (path: string): Promise<Server | undefined> =>
  new Promise((done, fail) => {
    const server = createServer((socket) => socket.destroy())
    server.unref()
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? done(undefined) : fail(error),
    )
    server.listen(path, () => done(server))
  })

const isAnswered = (path: string): Promise<boolean> =>
  new Promise((done) => {
    const socket = connect(path, () => {
      socket.destroy()
      done(true)
    })
    socket.once('error', () => done(false))
  })
