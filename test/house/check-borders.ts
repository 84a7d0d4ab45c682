// Imports between rooms: only downwards, and only of what a room shows.
import { posix } from 'node:path'
import { type Finding, isTestCode } from './finding.ts'
import type { ImportEdge, Workspace } from './resolve-imports.ts'

export type Layers = {
  readonly roots: Readonly<Record<string, string>>
  readonly rooms: Readonly<Record<string, readonly string[]>>
  readonly edgeLibraries: Readonly<Record<string, readonly string[]>>
}

export function checkBorders(edges: readonly ImportEdge[], layers: Layers): Finding[] {
  const rooms = placesOf(layers)
  const judge = ({ from, to }: ImportEdge): string | undefined => {
    if (isTestCode(from)) return undefined
    if (isTestCode(to)) return 'code of a process imports code of its tests: move what it needs beside it'
    const room = roomOf(from, rooms)
    if (room === undefined) return undefined
    const allowed = layers.edgeLibraries[to]
    if (allowed) return allowed.some((one) => covers(one, room.name)) ? undefined : `only ${allowed.join(', ')} may`
    const target = roomOf(to, rooms)
    if (target === undefined || target.name === room.name) return undefined
    if (!layers.rooms[room.name]?.some((one) => covers(one, target.name))) {
      return `${room.name} may not import ${target.name}: turn the arrow round, or pass it in as a parameter`
    }
    return isShown(to, target) ? undefined : `${target.name} shows only the files directly in its folder`
  }
  return edges.flatMap((edge) => {
    const advice = judge(edge)
    return advice === undefined ? [] : [{ rule: 'border', where: `${edge.from} -> ${edge.to}`, size: 1, advice }]
  })
}

/** Relative paths that leave their package: what a package exports is imported by the package's name. */
export function checkPackages(edges: readonly ImportEdge[], workspaces: readonly Workspace[]): Finding[] {
  const folders = workspaces.map(({ folder }) => folder).sort((a, b) => b.length - a.length)
  const packageOf = (path: string): string | undefined => folders.find((folder) => path.startsWith(`${folder}/`))
  return edges.flatMap(({ from, to, relative }) =>
    relative && packageOf(to) !== undefined && packageOf(from) !== packageOf(to)
      ? [{ rule: 'border', where: `${from} -> ${to}`, size: 1, advice: "import it by its package's name" }]
      : [],
  )
}

type Place = { readonly name: string; readonly path: string }

/** The rooms with their paths, the longest first. */
function placesOf({ roots, rooms }: Layers): Place[] {
  const places = Object.keys(rooms).map((name) => {
    const [root = '', ...rest] = name.split('/')
    return { name, path: posix.join(roots[root] ?? root, ...rest) }
  })
  return places.sort((a, b) => b.path.length - a.path.length)
}

const roomOf = (file: string, places: readonly Place[]): Place | undefined =>
  places.find(({ path }) => file === path || file.startsWith(`${path}/`))

const covers = (named: string, room: string): boolean => room === named || room.startsWith(`${named}/`)

const isShown = (file: string, { path }: Place): boolean => file === path || posix.dirname(file) === path
