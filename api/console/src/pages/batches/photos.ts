// Photos of a folder: which files are taken, and how they are found in a drop, a picked folder or an input.

/** A photo with its path below the folder, which names it in the run and in the archive. */
export type Photo = { readonly path: string; readonly file: File }

export type Folder = {
  readonly name: string
  readonly photos: readonly Photo[]
  readonly otherCount: number
  readonly tooLargeCount: number
  /** Lets a later visit read the folder again, in browsers that can store it. */
  readonly handle: FileSystemDirectoryHandle | undefined
}

/** Bounds what the page holds; File objects are small, their bytes stay on the disk. */
export const filesMax = 20_000

const photoEndings = /\.(jpe?g|png|webp)$/i
const hidden = /(^|\/)(\.|Thumbs\.db$|desktop\.ini$)/

export class TooManyFiles extends Error {
  override name = 'TooManyFiles'
}

type Given = { readonly name: string; readonly handle?: FileSystemDirectoryHandle | undefined }

/** Photos in the order of their paths, so a later run meets them alike. */
export function sortFolder(files: readonly Photo[], maxBytes: number, { name, handle }: Given): Folder {
  const visible = files.filter(({ path }) => !hidden.test(path))
  const photos = visible.filter(({ path }) => photoEndings.test(path))
  const fitting = photos.filter(({ file }) => file.size <= maxBytes && file.size > 0)
  return {
    name,
    handle,
    photos: fitting.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    otherCount: visible.length - photos.length,
    tooLargeCount: photos.length - fitting.length,
  }
}

/** Name of the folder that all paths share. */
export function commonFolder(paths: readonly string[]): string | undefined {
  const [first = ''] = paths
  const folder = first.includes('/') ? first.slice(0, first.indexOf('/')) : undefined
  return folder !== undefined && paths.every((path) => path.startsWith(`${folder}/`)) ? folder : undefined
}

export const filesOfInput = (list: FileList): Photo[] =>
  check([...list].map((file) => ({ path: file.webkitRelativePath || file.name, file })))

function check(photos: Photo[]): Photo[] {
  if (photos.length > filesMax) throw new TooManyFiles('The folder has too many files.')
  return photos
}

type Dropped = { readonly files: Photo[]; readonly handle: FileSystemDirectoryHandle | undefined }

type HandleItem = DataTransferItem & { getAsFileSystemHandle?: () => Promise<FileSystemHandle | null> }

/** Call it within the event: the browser empties the drop afterwards. */
export async function filesOfDrop({ items }: DataTransfer): Promise<Dropped> {
  const given = [...items].filter(({ kind }) => kind === 'file')
  const handles = given.length === 1 ? given.map((item) => (item as HandleItem).getAsFileSystemHandle?.()) : []
  const entries = given.map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null)
  const files: Photo[] = []
  for (const entry of entries) await readEntry(entry, entry.name, files)
  const handle = await handles[0]?.catch(() => null)
  return { files, handle: handle?.kind === 'directory' ? (handle as FileSystemDirectoryHandle) : undefined }
}

async function readEntry(entry: FileSystemEntry, path: string, into: Photo[]): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))
    into.push({ path, file })
    check(into)
    return
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  for (;;) {
    // Each call returns at most 100 entries.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (some.length === 0) return
    for (const child of some) await readEntry(child, `${path}/${child.name}`, into)
  }
}

type Iterable = FileSystemDirectoryHandle & { values(): AsyncIterable<FileSystemHandle> }

export async function filesOfHandle(handle: FileSystemDirectoryHandle): Promise<Photo[]> {
  const files: Photo[] = []
  const read = async (folder: FileSystemDirectoryHandle, path: string): Promise<void> => {
    for await (const child of (folder as Iterable).values()) {
      const childPath = `${path}/${child.name}`
      if (child.kind === 'directory') await read(child as FileSystemDirectoryHandle, childPath)
      else {
        files.push({ path: childPath, file: await (child as FileSystemFileHandle).getFile() })
        check(files)
      }
    }
  }
  await read(handle, handle.name)
  return files
}
