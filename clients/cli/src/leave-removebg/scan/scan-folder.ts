// Reads the text files of a code base, and writes changed ones. Binaries, version control and installed packages are
// left alone.
import { createReadStream } from 'node:fs'
import { access, chmod, chown, constants, lstat, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { glob } from 'tinyglobby'
import { usageError } from '../../cli-error.ts'
import { reasonOf } from '../../print/format.ts'
import { removebgHost } from '../service-url.ts'
import { applyUses, findUses, type Use } from './find-uses.ts'
import { decodeText, type EncodedText, encodeText } from './text-encoding.ts'

export type FileUses = EncodedText & { readonly file: string; readonly uses: readonly Use[] }

export type Scan = {
  readonly files: readonly FileUses[]
  readonly searched: number
  /** Files that could not be read, with the reason. */
  readonly unread: readonly string[]
  /** Files that hold the host and are never changed, with the reason. */
  readonly leftAlone: readonly string[]
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
  const leftAlone: string[] = []
  for (const file of paths.sort()) {
    try {
      const read = await readSource(join(folder, file))
      if (typeof read === 'string') leftAlone.push(`${file} holds ${removebgHost} and ${read}`)
      const uses = typeof read === 'object' ? findUses(read.text, { file, serviceUrl }) : []
      if (typeof read === 'object' && uses.length > 0) files.push({ file, ...read, uses })
    } catch (error) {
      unread.push(`${file}: ${reasonOf(error)}`)
    }
  }
  return { files, searched: paths.length, unread, leftAlone }
}

/** The text; or why a file with the host is left alone; undefined for links and for data without the host. */
async function readSource(path: string): Promise<EncodedText | string | undefined> {
  const entry = await lstat(path)
  if (!entry.isFile()) return undefined
  if (entry.size > fileBytesMax) return (await holdsHost(path)) ? 'is larger than 4 MiB' : undefined
  return decodeText(await readFile(path)) ?? ((await holdsHost(path)) ? 'is no text' : undefined)
}

/** Programs for Windows have their texts in UTF-16. */
const hostBytes = (['latin1', 'utf16le'] as const).map((encoding) => Buffer.from(removebgHost, encoding))
const hostBytesMax = Math.max(...hostBytes.map(({ length }) => length))

/** Reads piece by piece, because data can be larger than memory. */
async function holdsHost(path: string): Promise<boolean> {
  let tail = Buffer.alloc(0)
  for await (const piece of createReadStream(path)) {
    const bytes = Buffer.concat([tail, piece as Buffer])
    if (hostBytes.some((host) => bytes.includes(host))) return true
    tail = bytes.subarray(-hostBytesMax)
  }
  return false
}

/** Replaces the file whole or not at all, with its mode and owner. */
export async function writeChanges(folder: string, { file, text, encoding, uses }: FileUses): Promise<void> {
  const path = join(folder, file)
  const { mode, uid, gid } = await lstat(path)
  // A new file would take its place, which needs no permission of the old one, and root has every permission.
  const isWritable =
    (mode & 0o222) !== 0 &&
    (await access(path, constants.W_OK).then(
      () => true,
      () => false,
    ))
  if (!isWritable) throw new Error('no write permission')
  const aside = `${path}.matte-${process.pid}`
  try {
    await writeFile(aside, encodeText({ text: applyUses(text, uses), encoding }), { flag: 'wx' })
    await chmod(aside, mode & 0o7777)
    // Only root may give a file away, and only root changes files of others.
    await chown(aside, uid, gid).catch(() => undefined)
    await rename(aside, path)
  } finally {
    await rm(aside, { force: true })
  }
}
