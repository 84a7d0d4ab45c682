// Standard output of the client, with the current phase.
import type { Line } from './lines.ts'

const progress = { accepted: 0, ended: 0 }
/** Ids of tasks, because webhooks may be repeated. */
const announced = new Set<string>()
const state = { phase: 'start', answered: 0 }

export function write(line: Line): void {
  if (line.type === 'accepted') progress.accepted += 1
  if (line.type === 'ended') progress.ended += 1
  if (line.type === 'webhook') announced.add(line.task)
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

export const readProgress = () => ({ ...progress, announced: announced.size, phase: state.phase })

export function countAnswer(): void {
  state.answered += 1
}

export const currentPhase = (): string => state.phase

export function beginPhase(name: string): void {
  write({ type: 'calls', answered: state.answered })
  Object.assign(state, { phase: name, answered: 0 })
  write({ type: 'phase', name, at: Date.now() })
}
