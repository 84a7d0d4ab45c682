// Reads the text files of a code base, and writes changed ones. Binaries, version control and installed packages are
// left alone.
import { chmod, chown, lstat, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { glob } from 'tinyglobby'
import { usageError } from '../../cli-error.ts'
import { reasonOf } from '../../print/format.ts'
import { applyUses, findUses, type Use } from './find-uses.ts'

export type FileUses = { readonly file: string; readonly text: string; readonly uses: readonly Use[] }

export type Scan = {
  readonly files: readonly FileUses[]
  readonly searched: number
  /** Files that could not be read, with the reason. */
  readonly unread: readonly string[]
}

/** A source file is smaller. A larger one is data. */
const fileBytesMax = 4_194_304

const skippedFolders = [
  ...['.git', '.hg', '.svn', '.jj', 'node_modules', 'bower_components', 'vendor', '.venv', 'venv', '__pycache__'],
  ...['.tox', '.mypy_cache', '.pytest_cache', '.gradle', '.terraform', '.next', '.nuxt', '.cache'],
]

/** Package managers write them, from the manifests that are reported. */
const lockFiles = [
  ...['package-lock.json', 'npm-shrinkwrap.json', 'yarn.lock', 'pnpm-lock.yaml', 'bun.lock', 'poetry.lock', 'uv.lock'],
  ...['Pipfile.lock', 'Gemfile.lock', 'composer.lock', 'go.sum', 'Cargo.lock', 'packages.lock.json'],
]

/** @throws CliError if the folder is none */
export async function scanFolder(folder: string, serviceUrl: string | undefined): Promise<Scan> {
  const entry = await lstat(folder).catch((error: unknown) => {
    throw usageError(`${folder} cannot be read: ${reasonOf(error)}.`, 'Give the folder of your code.')
  })
  if (!entry.isDirectory()) throw usageError(`${folder} is no folder.`, 'Give the folder of your code.')
  const paths = await glob(['**/*'], {
    cwd: folder,
    dot: true,
    followSymbolicLinks: false,
    expandDirectories: false,
    ignore: [...skippedFolders.map((name) => `**/${name}/**`), ...lockFiles.map((name) => `**/${name}`)],
  })
  const files: FileUses[] = []
  const unread: string[] = []
  for (const file of paths.sort()) {
    try {
      const text = await readText(join(folder, file))
      const uses = text === undefined ? [] : findUses(text, { file, serviceUrl })
      if (text !== undefined && uses.length > 0) files.push({ file, text, uses })
    } catch (error) {
      unread.push(`${file}: ${reasonOf(error)}`)
    }
  }
  return { files, searched: paths.length, unread }
}

/** Undefined for links, data and anything that would not be written back byte by byte. */
async function readText(path: string): Promise<string | undefined> {
  const entry = await lstat(path)
  if (!entry.isFile() || entry.size > fileBytesMax) return undefined
  const bytes = await readFile(path)
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Replaces the file whole or not at all, with its mode and owner. */
export async function writeChanges(folder: string, { file, text, uses }: FileUses): Promise<void> {
  const path = join(folder, file)
  const { mode, uid, gid } = await lstat(path)
  const aside = `${path}.matte-${process.pid}`
  try {
    await writeFile(aside, applyUses(text, uses), { flag: 'wx' })
    await chmod(aside, mode & 0o7777)
    // Only root may give a file away, and only root changes files of others.
    await chown(aside, uid, gid).catch(() => undefined)
    await rename(aside, path)
  } finally {
    await rm(aside, { force: true })
  }
}
