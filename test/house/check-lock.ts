// Compares package-lock.json with every package.json. `npm install --no-save` does not, and `npm ci` rejects a lock
// file without the packages of another platform.
import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

const kinds = ['dependencies', 'devDependencies', 'optionalDependencies'] as const

type Manifest = { readonly [kind in (typeof kinds)[number]]?: Readonly<Record<string, string>> } & {
  readonly version?: string
  readonly workspaces?: readonly string[]
}
type LockEntry = Manifest & { readonly resolved?: string; readonly link?: boolean }
export type Lock = { readonly packages: Readonly<Record<string, LockEntry>> }

/** Manifests by folder; the root has the key `''`. */
export type Manifests = Readonly<Record<string, Manifest>>

type Problem = { readonly where: string; readonly problem: string }

export function readLock(rootDir: string): { readonly lock: Lock; readonly manifests: Manifests } {
  const read = <T>(path: string): T => JSON.parse(readFileSync(join(rootDir, path), 'utf8')) as T
  const root = read<Manifest>('package.json')
  const workspaces = (root.workspaces ?? []).map((folder) => [folder, read<Manifest>(`${folder}/package.json`)])
  return { lock: read<Lock>('package-lock.json'), manifests: { '': root, ...Object.fromEntries(workspaces) } }
}

/** Differences between the lock file and the manifests. `npm install --package-lock-only` in the root mends them. */
export function checkLock(lock: Lock, manifests: Manifests): Problem[] {
  return [
    ...Object.entries(manifests).flatMap(([folder, manifest]) => compareManifest(lock, folder, manifest)),
    ...Object.keys(lock.packages)
      .filter((path) => !path.includes('node_modules/') && manifests[path] === undefined)
      .map((path) => ({ where: path, problem: 'Only package-lock.json has this workspace' })),
    ...Object.entries(lock.packages)
      .filter(([, { resolved, link }]) => resolved !== undefined && !link)
      .map(([path]) => ({ where: path, problem: 'The entry names a registry, which other machines may not reach' })),
  ]
}

function compareManifest(lock: Lock, folder: string, manifest: Manifest): Problem[] {
  const file = posix.join(folder, 'package.json')
  const entry = lock.packages[folder]
  if (entry === undefined) return [{ where: file, problem: 'package-lock.json lacks this workspace' }]
  const versions = [manifest.version, entry.version].map((version) => version ?? 'no version')
  const isSame = versions[0] === versions[1]
  return [
    ...(isSame
      ? []
      : [{ where: `${file}: version`, problem: `package.json has ${versions.join(', package-lock.json has ')}` }]),
    ...kinds.flatMap((kind) => compareRanges(manifest[kind] ?? {}, entry[kind] ?? {}, `${file}: ${kind}`)),
    ...kinds.flatMap((kind) =>
      Object.entries(manifest[kind] ?? {}).flatMap(([name, range]) => comparePin(lock, { folder, file, name, range })),
    ),
  ]
}

type Ranges = Readonly<Record<string, string>>

function compareRanges(declared: Ranges, locked: Ranges, where: string): Problem[] {
  const names = [...new Set([...Object.keys(declared), ...Object.keys(locked)])].sort()
  return names
    .filter((name) => declared[name] !== locked[name])
    .map((name) => {
      const [here, there] = [declared[name], locked[name]].map((range) => range ?? 'no such package')
      return { where: `${where}: ${name}`, problem: `package.json has ${here}, package-lock.json has ${there}` }
    })
}

type Pin = { readonly folder: string; readonly file: string; readonly name: string; readonly range: string }

/** An exact version must be the one that Node resolves from this folder. */
function comparePin(lock: Lock, { folder, file, name, range }: Pin): Problem[] {
  const where = `${file}: ${name}`
  const found = resolve(lock, folder, name)
  if (found === undefined) return [{ where, problem: 'package-lock.json resolves no version of it' }]
  if (!/^\d/.test(range) || found.link || found.version === range) return []
  return [{ where, problem: `package.json has ${range}, package-lock.json resolves ${found.version}` }]
}

function resolve(lock: Lock, folder: string, name: string): LockEntry | undefined {
  const entry = lock.packages[posix.join(folder, 'node_modules', name)]
  if (entry !== undefined || folder === '') return entry
  const above = posix.dirname(folder)
  return resolve(lock, above === '.' ? '' : above, name)
}
