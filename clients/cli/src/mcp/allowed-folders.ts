// Keeps an assistant inside the folders that the user allowed. Symbolic links are followed before the comparison.
import { lstat, realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { usageError } from '../cli-error.ts'
import { isBelow } from '../cut/sources.ts'

export type AllowedFolders = {
  readonly folders: readonly string[]
  /** Real path of a file to read. @throws CliError outside */
  toRead(path: string): Promise<string>
  /** Real path of a file to write, which need not exist. @throws CliError outside, and for a link */
  toWrite(path: string): Promise<string>
}

/** @throws CliError for a folder that does not exist */
export async function allowFolders(paths: readonly string[]): Promise<AllowedFolders> {
  const folders = await Promise.all(
    paths.map((path) =>
      realpath(path).catch(() => {
        throw usageError(`${path} does not exist.`, '--allow names a folder that the assistant may read and write.')
      }),
    ),
  )
  const check = (real: string, path: string): string => {
    if (folders.some((folder) => isBelow(real, folder))) return real
    throw usageError(`${path} is outside the allowed folders.`, `Allowed: ${folders.join(', ')}. Add one with --allow.`)
  }
  // A relative path is one below the first folder.
  const absolute = (path: string): string => resolve(folders[0] ?? '.', path)
  return {
    folders,
    toRead: async (path) => {
      const real = await realpath(absolute(path)).catch(() => {
        check(absolute(path), path)
        throw usageError(`${path} does not exist.`, `Relative paths begin in ${folders[0]}.`)
      })
      return check(real, path)
    },
    toWrite: async (path) => {
      const full = absolute(path)
      const real = join(await realFolder(dirname(full)), basename(full))
      check(real, path)
      const entry = await lstat(real).catch(() => undefined)
      if (entry?.isSymbolicLink() || entry?.isDirectory()) {
        throw usageError(`${path} is a ${entry.isDirectory() ? 'folder' : 'link'}.`, 'Name a file for the result.')
      }
      return real
    },
  }
}

/** Real path of a folder that may not exist yet, from its closest parent that does. */
async function realFolder(path: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined)
  if (real !== undefined) return real
  const parent = dirname(path)
  return parent === path ? path : join(await realFolder(parent), basename(path))
}
