import type { Finding } from './finding.ts'
import type { ImportEdge } from './resolve-imports.ts'

/** Every group of files that import each other in a circle, types included; tests count like all others. */
export function findCycles(edges: readonly ImportEdge[]): Finding[] {
  const next = new Map<string, Set<string>>()
  for (const { from, to } of edges) next.set(from, (next.get(from) ?? new Set()).add(to))
  const done = new Set<string>()
  const cycles = new Map<string, Finding>()
  for (const start of [...next.keys()].sort()) {
    const cycle = done.has(start) ? undefined : shortestWayBack(start, next)
    done.add(start)
    for (const path of cycle ?? []) done.add(path)
    if (cycle) cycles.set(start, toFinding(cycle))
  }
  return [...cycles.values()]
}

function toFinding(cycle: readonly string[]): Finding {
  const where = [...cycle, cycle[0]].join(' -> ')
  return { rule: 'cycle', where, size: 1, advice: 'move what both need into a file below them' }
}

/** The files of the shortest circle through `start`, breadth first; undefined when there is none. */
function shortestWayBack(start: string, next: ReadonlyMap<string, ReadonlySet<string>>): string[] | undefined {
  const reachedFrom = new Map<string, string>()
  const queue = [start]
  for (const path of queue) {
    for (const to of next.get(path) ?? []) {
      if (to === start) return pathTo(path, start, reachedFrom)
      if (reachedFrom.has(to)) continue
      reachedFrom.set(to, path)
      queue.push(to)
    }
  }
  return undefined
}

function pathTo(end: string, start: string, reachedFrom: ReadonlyMap<string, string>): string[] {
  const path = [end]
  for (let at = end; at !== start; path.unshift(at)) at = reachedFrom.get(at) ?? start
  return path
}
