// Which file of ours an import means: a relative path, or a workspace's name and a path through its `exports`.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import type { SourceFile } from './read-sources.ts'

export type ImportEdge = {
  readonly from: string
  /** The imported file, or a library's name. */
  readonly to: string
  readonly names: readonly string[] | 'all'
  /** Written as a relative path. */
  readonly relative: boolean
}

/** A workspace: its name, its folder, and its `exports`: files by name (`./bus/bus`), or the pattern `./*` of all. */
export type Workspace = {
  readonly name: string
  readonly folder: string
  readonly exports: Readonly<Record<string, string>>
}

export function readWorkspaces(rootDir: string): Workspace[] {
  const files = globSync('{api,api/core,controller,dispatcher,docs/generate,local,protos,test}/package.json', {
    cwd: rootDir,
  })
  return files.map((file) => {
    const { name, exports = {} } = JSON.parse(readFileSync(join(rootDir, file), 'utf8')) as Partial<Workspace>
    return { name: name ?? '', folder: dirname(file), exports }
  })
}

/** Every import of our own files, and of libraries by their package's name; Node's own modules are left out. */
export function resolveImports(files: readonly SourceFile[], workspaces: readonly Workspace[]): ImportEdge[] {
  return files.flatMap(({ path, imports }) =>
    imports.flatMap(({ specifier, names }) => {
      const to = resolveSpecifier(path, specifier, workspaces)
      return to === undefined ? [] : [{ from: path, to, names, relative: specifier.startsWith('.') }]
    }),
  )
}

function resolveSpecifier(from: string, specifier: string, workspaces: readonly Workspace[]): string | undefined {
  if (specifier.startsWith('node:')) return undefined
  if (specifier.startsWith('.')) return posix.join(posix.dirname(from), specifier)
  const workspace = workspaces.find(({ name }) => specifier.startsWith(`${name}/`))
  if (workspace) {
    const path = specifier.slice(workspace.name.length + 1)
    const file = workspace.exports[`./${path}`] ?? workspace.exports['./*']?.replace('*', path)
    return file === undefined ? undefined : posix.join(workspace.folder, file)
  }
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}
