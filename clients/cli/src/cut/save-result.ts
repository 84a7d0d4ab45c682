// Writes results whole or not at all.
import { randomBytes } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { access, link, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { usageError } from '../cli-error.ts'
import { reasonOf } from '../print/format.ts'
import { hashOf } from './results.ts'

/** Names that a crash can leave behind begin with it; readers of folders skip hidden files. */
const temporaryPrefix = '.matte-'

export type SaveOptions = {
  readonly overwrite: boolean
  /** No other process writes this result, so what a killed run left of it is replaced. */
  readonly isLocked?: boolean
}

/**
 * Writes to a temporary name beside the target and renames it, so a killed run leaves no half file.
 * @throws CliError when the file exists and may not be replaced
 */
export async function saveResult(path: string, bytes: Uint8Array, { overwrite, isLocked = false }: SaveOptions) {
  const folder = dirname(path)
  await mkdir(folder, { recursive: true })
  // A hash, because a name that is derived from a long one can be too long. A later run finds the same one.
  const unique = isLocked ? hashOf(basename(path)).slice(0, 16) : randomBytes(8).toString('hex')
  const temporary = join(folder, `${temporaryPrefix}${unique}.part`)
  try {
    const file = await open(temporary, isLocked ? 'w' : 'wx')
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    if (overwrite) await rename(temporary, path)
    else await linkNew(temporary, path)
  } finally {
    await rm(temporary, { force: true })
  }
}

/**
 * Looks at the closest folder that exists, and writes nothing. For before a result is paid.
 * @throws CliError when a file below the folder could not be created
 */
export async function checkWritable(folder: string): Promise<void> {
  const isFolder = await stat(folder).then(
    (entry) => entry.isDirectory(),
    () => undefined,
  )
  if (isFolder === undefined && dirname(folder) !== folder) return checkWritable(dirname(folder))
  if (isFolder === false) throw usageError(`${folder} is not a folder.`, 'Choose another place for the result.')
  await access(folder, constants.W_OK).catch((error: unknown) => {
    throw usageError(`Nothing can be written to ${folder}: ${reasonOf(error)}.`, 'Choose another folder.')
  })
}

/** Unlike a rename, a link fails when the target exists. File systems without links get a rename. */
async function linkNew(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' || existsSync(to)) throw fileExists(to)
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'ENOSYS' && code !== 'EMLINK') throw error
    await rename(from, to)
  }
}

export const fileExists = (path: string) => usageError(`${path} exists.`, 'Add --overwrite to replace it.')

/** Resolves when the pipe has taken everything. */
export const writeStdout = (bytes: Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(bytes, (error) => (error ? reject(error) : resolve()))
  })
