// Cache outside the checkout, shared by all checkouts on the machine. Names contain a digest of the inputs; entries are
// added, never changed.
import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

export const cacheDir = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'matte/quality')

/** Returns the file's bytes; calls `make` if it is missing. */
export async function cached(name: string, make: () => Promise<Uint8Array>): Promise<Buffer> {
  const path = join(cacheDir, name)
  const known = await readFile(path).catch(() => undefined)
  if (known !== undefined) return known
  const bytes = await make()
  await mkdir(dirname(path), { recursive: true })
  // Renamed into place: another run may be reading the same name.
  const aside = `${path}.${randomUUID()}`
  await writeFile(aside, bytes)
  await rename(aside, path)
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
