// Writes results whole or not at all.
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, mkdir, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { usageError } from '../cli-error.ts'

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
  const unique = isLocked ? '' : `.${randomBytes(6).toString('hex')}`
  const temporary = join(folder, `${temporaryPrefix}${basename(path).slice(0, 100)}${unique}.part`)
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
