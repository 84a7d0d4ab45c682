// What the bench fetches, draws and computes once lies outside the checkout, so that every checkout on the machine has
// it. Everything below has a name made of what it was computed from; nothing there is ever changed, only added.
import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

export const cacheDir = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'matte/quality')

/** The file's bytes; `make` is called when it is not there. */
export async function cached(name: string, make: () => Promise<Uint8Array>): Promise<Buffer> {
  const path = join(cacheDir, name)
  const known = await readFile(path).catch(() => undefined)
  if (known !== undefined) return known
  const bytes = await make()
  await mkdir(dirname(path), { recursive: true })
  // Aside, then renamed: another run may be reading the same name.
  const aside = `${path}.${randomUUID()}`
  await writeFile(aside, bytes)
  await rename(aside, path)
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
