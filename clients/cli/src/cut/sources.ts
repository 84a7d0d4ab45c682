// Finds the images that arguments of `matte cut` name: files, folders, patterns and URLs.
import fs, { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, join, relative, resolve, sep } from 'node:path'
import { glob, isDynamicPattern } from 'tinyglobby'
import { usageError } from '../cli-error.ts'
import { defined } from '../defined.ts'
import { reasonOf } from '../print/format.ts'

export type Source = {
  /** Path as the user wrote it, or a URL. */
  readonly input: string
  /** Path below the folder or pattern that named it; only the name of a single file. Results keep this tree. */
  readonly relative: string
  /** Bytes and time of the last change; absent for URLs. */
  readonly stamp?: Stamp
}

export type Stamp = { readonly sizeBytes: number; readonly modifiedMs: number }

const extensions = ['png', 'jpg', 'jpeg', 'webp']
const isImageName = new RegExp(String.raw`\.(${extensions.join('|')})$`, 'i')
export const isUrl = (text: string): boolean => /^https?:\/\//i.test(text)

/** End of the names of results that are written beside their images. */
export const resultSuffix = '-cutout'
const isResultName = new RegExp(String.raw`^(.+)${resultSuffix}\.[a-z]+$`, 'i')

/** Whether a file of a folder is an image to cut, and no result of an earlier run beside its image. */
export function isWanted(path: string, exists: (path: string) => boolean = existsSync): boolean {
  if (!isImageName.test(path)) return false
  const [, stem] = isResultName.exec(path) ?? []
  return stem === undefined || ![stem, ...extensions.map((extension) => `${stem}.${extension}`)].some(exists)
}

export type SearchOptions = {
  /** Folder of results, which is not searched. */
  readonly outDir?: string | undefined
}

/**
 * Images in the order of their paths, each once.
 * @throws CliError for a path or pattern that names no image
 */
export async function findSources(args: readonly string[], options: SearchOptions): Promise<Source[]> {
  const found = new Map<string, Source>()
  for (const arg of args) {
    for (const source of await findOne(arg, options)) {
      found.set(isUrl(source.input) ? source.input : resolve(source.input), source)
    }
  }
  return [...found.values()]
}

async function findOne(arg: string, options: SearchOptions): Promise<Source[]> {
  if (isUrl(arg)) return [{ input: arg, relative: nameOfUrl(arg) }]
  const entry = await stat(arg).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR' || isDynamicPattern(arg)) return undefined
    throw usageError(`${arg} cannot be read: ${reasonOf(error)}.`, 'Check its permissions, and where links lead.')
  })
  if (entry?.isDirectory()) return search(everything, arg, options)
  if (entry !== undefined) return [{ input: arg, relative: basename(arg), stamp: toStamp(entry) }]
  if (!isDynamicPattern(arg)) {
    throw usageError(`${arg} does not exist.`, 'Check the path. For several images, name files, folders or patterns.')
  }
  const base = baseOfPattern(arg)
  return search(arg.slice(base.length).replace(/^\/+/, ''), base || '.', options)
}

const everything = '**/*'

async function search(pattern: string, folder: string, { outDir }: SearchOptions): Promise<Source[]> {
  const paths = await glob(pattern, {
    cwd: folder,
    onlyFiles: true,
    caseSensitiveMatch: false,
    expandDirectories: false,
    fs: { stat: statLinkedFile },
  })
  const out = outDir === undefined ? undefined : resolve(outDir)
  const wanted = paths
    .map((path) => ({ path, input: join(folder, path) }))
    .filter(({ input }) => isWanted(input) && !(out !== undefined && isBelow(resolve(input), out)))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
  if (wanted.length === 0) {
    throw usageError(
      `There is no image in ${pattern === everything ? folder : join(folder, pattern)}.`,
      `Images end in ${extensions.map((one) => `.${one}`).join(', ')}.`,
    )
  }
  return Promise.all(
    // A file without a stamp is gone, or its name is not UTF-8. It fails alone, when it is read.
    wanted.map(async ({ path, input }) => ({
      input,
      relative: path,
      ...defined({ stamp: await stat(input).then(toStamp, () => undefined) }),
    })),
  )
}

/** The search resolves links by it. A link to a folder can lead back into the search, so only linked files are found. */
const statLinkedFile = ((path: string, done: (error: Error | null, entry: fs.Stats) => void): void => {
  fs.stat(path, (error, entry) => done(error ?? (entry.isDirectory() ? new Error('a linked folder') : null), entry))
}) as typeof fs.stat

export const toStamp = ({ size, mtimeMs }: { size: number; mtimeMs: number }): Stamp => ({
  sizeBytes: size,
  modifiedMs: Math.floor(mtimeMs),
})

export const isBelow = (path: string, folder: string): boolean => {
  const from = relative(folder, path)
  return from === '' || (from !== '..' && !from.startsWith(`..${sep}`) && !/^([a-z]:|[\\/])/i.test(from))
}

/** Leading folders without a pattern: `photos/` of `photos/**\/*.jpg`. */
export function baseOfPattern(pattern: string): string {
  const parts = pattern.split('/')
  const dynamic = parts.findIndex((part) => isDynamicPattern(part))
  return parts.slice(0, dynamic).join('/') + (dynamic > 0 ? '/' : '')
}

/** File name of a URL; `image` if its path has none. */
export function nameOfUrl(url: string): string {
  const last = new URL(url).pathname.split('/').at(-1) ?? ''
  let name = last
  try {
    name = decodeURIComponent(last)
  } catch {
    // A name with a broken escape stays as it is.
  }
  return name.replaceAll(/[^\p{L}\p{N}._ -]/gu, '_').replace(/^\.+/, '') || 'image'
}
