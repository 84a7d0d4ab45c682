// Manifest of many images: an append-only file of JSON lines, the last line of a key in force.
//
// `creating`  written before the creation is sent (A178). After a crash the same body and key give the same task.
// `created`   the task exists.
// `done`      the caller has taken the result.
// A crash can tear the last line. Its step has not begun, because each step waits for its line.
import { openManifestFile } from '#files'
import { MatteError } from '../error.ts'
import type { Manifest } from '../options.ts'

export type Entry = {
  readonly key: string
  /** Fingerprint of image and options: others make a new task. */
  readonly input: string
  readonly state: 'creating' | 'created' | 'done'
  readonly idempotencyKey: string
  readonly objectKey: string
  readonly taskId?: string
  /** Time at which the creation was first sent. */
  readonly at: string
}

export type OpenManifest = {
  find(key: string, input: string): Entry | undefined
  /** Resolves when the line is stored. */
  record(entry: Entry): Promise<void>
  close(): Promise<void>
}

const header = JSON.stringify({ matte: 'manifest', version: 1 })

/** @throws MatteError CLIENT_CONFIG for a file that is something else */
export function parseManifest(text: string): Map<string, Entry> {
  const [first = '', ...lines] = text.split('\n')
  // A crash during the first write leaves a part of the header.
  const isTorn = lines.length === 0 && header.startsWith(first)
  if (first !== header && !isTorn) {
    throw new MatteError('CLIENT_CONFIG', 'The manifest is a file of another kind. Name a new file.')
  }
  const entries = new Map<string, Entry>()
  for (const line of lines) {
    const entry = parseLine(line)
    if (entry) entries.set(entry.key, entry)
  }
  return entries
}

function parseLine(line: string): Entry | undefined {
  try {
    const entry = JSON.parse(line)
    return typeof entry?.key === 'string' ? entry : undefined
  } catch {
    return undefined
  }
}

export async function openManifest(manifest: Manifest): Promise<OpenManifest> {
  const store = typeof manifest === 'string' ? await openManifestFile(manifest) : manifest
  const text = await store.read()
  const entries = parseManifest(text)
  if (text !== header && !text.startsWith(`${header}\n`)) {
    await store.append(`${header.slice(text.length)}\n`)
  } else if (!text.endsWith('\n')) {
    await store.append('\n')
  }
  const write = inGroups((group) => store.append(group))
  return {
    find: (key, input) => {
      const entry = entries.get(key)
      return entry?.input === input ? entry : undefined
    },
    record: (entry) => {
      entries.set(entry.key, entry)
      return write(`${JSON.stringify(entry)}\n`)
    },
    close: async () => store.close?.(),
  }
}

/** Lines that wait for a write in progress are written together: one sync of the disk serves them all. */
function inGroups(write: (text: string) => Promise<void>): (line: string) => Promise<void> {
  let waiting = ''
  let next: Promise<void> | undefined
  let last: Promise<void> = Promise.resolve()
  return (line) => {
    waiting += line
    next ??= last.then(() => {
      const group = waiting
      waiting = ''
      next = undefined
      last = write(group)
      return last
    })
    last = next
    return next
  }
}
