// Exports that nobody needs. Every file of a package can be imported by its path, so that a tool which asks for entry
// points takes all of them for used; here an export has to be imported by another file of the repository.
import { posix } from 'node:path'
import { type Finding, isTestCode } from './finding.ts'
import type { SourceFile } from './read-sources.ts'
import type { ImportEdge, Workspace } from './resolve-imports.ts'

type Users = { readonly processes: number; readonly tests: number }

export function checkExports(
  files: readonly SourceFile[],
  edges: readonly ImportEdge[],
  programs: readonly string[],
): Finding[] {
  return files
    .filter(({ path }) => !isTestCode(path))
    .flatMap((file) => {
      const importers = edges.filter(({ to, from }) => to === file.path && from !== file.path)
      if (importers.length === 0 && !programs.includes(file.path)) {
        return [{ rule: 'unused-file', where: file.path, size: 1, advice: 'no file imports it: delete it' }]
      }
      return file.exports.flatMap((name) => judge(file, name, countUsers(importers, name)))
    })
}

function countUsers(importers: readonly ImportEdge[], name: string): Users {
  const users = importers.filter(({ names }) => names === 'all' || names.includes(name))
  const tests = users.filter(({ from }) => isTestCode(from)).length
  return { processes: users.length - tests, tests }
}

function judge(file: SourceFile, name: string, users: Users): Finding[] {
  if (users.processes > 0) return []
  const usedInside = (file.mentions.get(name) ?? 0) > 1
  const where = `${file.path}#${name}`
  if (users.tests === 0) {
    const advice = usedInside ? 'only its own file uses it: take `export` away' : 'nothing uses it: delete it'
    return [{ rule: 'unused-export', where, size: 1, advice }]
  }
  // A test may look at a function that its file uses as well.
  if (usedInside) return []
  return [{ rule: 'test-only', where, size: 1, advice: 'only tests use it: move it to them' }]
}

/** Files that a package names in its `exports` and that no other package imports. */
export function checkEntryPoints(edges: readonly ImportEdge[], workspaces: readonly Workspace[]): Finding[] {
  return workspaces.flatMap(({ folder, exports }) =>
    Object.entries(exports).flatMap(([name, file]): Finding[] => {
      const path = posix.join(folder, file)
      if (name.includes('*') || edges.some(({ to, relative }) => to === path && !relative)) return []
      const advice = 'no other package imports it: take it out of `exports`'
      return [{ rule: 'unused-export', where: `${folder}/package.json#${name}`, size: 1, advice }]
    }),
  )
}
