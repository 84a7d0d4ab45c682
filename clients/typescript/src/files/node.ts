// Files of Node, Deno and Bun. The package's `imports` replaces this file by none.ts elsewhere.
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MatteError } from '../error.ts'
import { inputError, type Source, sniffType } from '../input/source.ts'
import type { ManifestStore } from '../options.ts'

/** @throws MatteError CLIENT_INPUT */
export async function openFile(input: string | URL): Promise<Source> {
  const path = input instanceof URL ? toPath(input) : input
  const handle = await open(path).catch((cause) => {
    throw inputError(`The file ${path} cannot be opened: ${cause.code}.`, cause)
  })
  try {
    const stats = await handle.stat()
    if (!stats.isFile()) throw inputError(`${path} is not a file.`)
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

/** Writes beside the file and renames, so a crash leaves no half of it. */
export async function saveFile(path: string, bytes: Uint8Array): Promise<void> {
  const part = `${path}.${randomUUID()}.part`
  try {
    await writeFile(part, bytes)
    await rename(part, path)
  } catch (cause) {
    await rm(part, { force: true })
    throw inputError(`The file ${path} cannot be written: ${(cause as NodeJS.ErrnoException).code}.`, cause)
  }
}

export async function openManifestFile(path: string): Promise<ManifestStore> {
  // The manifest names tasks, so only its owner reads it.
  const handle = await open(path, 'a+', 0o600).catch((cause) => {
    throw new MatteError('CLIENT_CONFIG', `The manifest ${path} cannot be opened: ${cause.code}.`, { cause })
  })
  return {
    read: () => readFile(path, 'utf8'),
    append: async (text) => {
      try {
        await handle.appendFile(text)
        await handle.datasync()
      } catch (cause) {
        throw inputError(`The manifest ${path} cannot be written: ${(cause as NodeJS.ErrnoException).code}.`, cause)
      }
    },
    close: () => handle.close(),
  }
}
