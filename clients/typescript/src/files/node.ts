// Files of Node, Deno and Bun. The package's `imports` replaces this file by none.ts elsewhere.
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MatteError } from '../error.ts'
import type { ManifestStore } from '../options.ts'
import { inputError, type Source, sniffType } from '../source.ts'

/** @throws MatteError CLIENT_INPUT */
export async function openFile(input: string | URL): Promise<Source> {
  const path = input instanceof URL ? toPath(input) : input
  const refuse = (cause: unknown): never => {
    throw inputError(`The file ${path} cannot be opened: ${reasonOf(cause)}.`, cause)
  }
  // Before it is opened: a pipe without a writer opens never.
  const stats = await stat(path).catch(refuse)
  if (!stats.isFile()) throw inputError(`${path} is not a file.`)
  const handle = await open(path).catch(refuse)
  try {
    const { buffer } = await handle.read(new Uint8Array(16), 0, 16, 0)
    return {
      fileName: basename(path),
      contentType: sniffType(buffer),
      sizeBytes: stats.size,
      stream: () => createReadStream(path),
      blob: async () => new Blob([await readFile(path)]),
      fingerprint: async () => `${stats.size}-${stats.mtimeMs}`,
    }
  } finally {
    await handle.close()
  }
}

function toPath(url: URL): string {
  if (url.protocol === 'file:') return fileURLToPath(url)
  throw inputError(`A URL must be http, https or file, and not ${url.protocol}`)
}

/** Writes beside the file and renames, so a crash leaves no half of it. Creates missing folders. */
export async function saveFile(path: string, bytes: Uint8Array): Promise<void> {
  // A random name: one derived from a long file name can be too long.
  const part = join(dirname(path), `.${randomUUID()}.part`)
  try {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(part, bytes)
    await rename(part, path)
  } catch (cause) {
    await rm(part, { force: true }).catch(() => undefined)
    throw inputError(`The file ${path} cannot be written: ${reasonOf(cause)}.`, cause)
  }
}

/** The reason in words: `no such file or directory` of `ENOENT: no such file or directory, open 'chair.jpg'`. */
function reasonOf(cause: unknown): string {
  const { message } = cause as Error
  return /^[A-Z0-9]+: ([^,]+)/.exec(message)?.[1] ?? message
}

export async function openManifestFile(path: string): Promise<ManifestStore> {
  // The manifest names tasks, so only its owner reads it.
  const handle = await open(path, 'a+', 0o600).catch((cause) => {
    throw new MatteError('CLIENT_CONFIG', `The manifest ${path} cannot be opened: ${reasonOf(cause)}.`, { cause })
  })
  return {
    read: () => readFile(path, 'utf8'),
    append: async (text) => {
      try {
        await handle.appendFile(text)
        await handle.datasync()
      } catch (cause) {
        throw inputError(`The manifest ${path} cannot be written: ${reasonOf(cause)}.`, cause)
      }
    },
    close: () => handle.close(),
  }
}
