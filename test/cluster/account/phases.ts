// Errors that callers saw in each phase, from the load client's log.
import { kinds } from '../client/kinds.ts'
import type { Line } from '../client/lines.ts'

/** Errors allowed in a phase: none, documented responses of an outage, broken connections. */
export type Tolerance = { readonly outage?: boolean; readonly broken?: boolean }

export type PhaseCounts = {
  readonly name: string
  readonly beganAt: number
  answered: number
  accepted: number
  ended: number
  webhooks: number
  /** 429 and 409 with Retry-After. */
  waits: number
  /** 503, and 500 without the database, with Retry-After (D6, D8). */
  outages: number
  readonly otherErrors: string[]
  readonly broken: string[]
  slowWhole: number
  slowCut: number
}

export function countPhases(lines: readonly Line[]): readonly PhaseCounts[] {
  const phases = [newPhase('start', 0)]
  for (const line of lines) {
    const phase = phases.at(-1) ?? newPhase('start', 0)
    if (line.type === 'phase') phases.push(newPhase(line.name, line.at))
    else if (line.type === 'refused') countRefusal(phase, line)
    else if (line.type === 'slow') countSlow(phases, line)
    else count(phase, line)
  }
  return phases
}

const newPhase = (name: string, beganAt: number): PhaseCounts => ({
  ...{ name, beganAt, answered: 0, accepted: 0, ended: 0, webhooks: 0 },
  ...{ waits: 0, outages: 0, otherErrors: [], broken: [], slowWhole: 0, slowCut: 0 },
})

function count(phase: PhaseCounts, line: Line): void {
  if (line.type === 'calls') phase.answered += line.answered
  if (line.type === 'accepted') phase.accepted += 1
  if (line.type === 'ended') phase.ended += 1
  if (line.type === 'webhook') phase.webhooks += 1
  if (line.type === 'broken') phase.broken.push(`${line.op}: ${line.error}`)
}

/** Counts an uncut upload in the phase of its start. */
function countSlow(phases: readonly PhaseCounts[], { began, cut }: Extract<Line, { type: 'slow' }>): void {
  const phase = phases.find(({ name }) => name === (cut ?? began))
  if (phase !== undefined) phase[cut === null ? 'slowWhole' : 'slowCut'] += 1
}

const expectedCodes = new Set(
  Object.values(kinds).flatMap(({ end }) => ('refusedWith' in end ? [end.refusedWith] : [])),
)

function countRefusal(phase: PhaseCounts, { op, status, code, retryAfter }: Extract<Line, { type: 'refused' }>): void {
  const isOutage = status === 503 || (status === 500 && code === 'SYSTEM_INTERNAL_ERROR')
  if (retryAfter && (status === 429 || status === 409)) phase.waits += 1
  else if (retryAfter && isOutage) phase.outages += 1
  else if (!expectedCodes.has(code)) phase.otherErrors.push(`${op}: ${status} ${code}`)
}

/** Unexpected errors, one sentence each; empty if there are none. */
export function findErrors(lines: readonly Line[], toleranceOf: (phase: string) => Tolerance): readonly string[] {
  return countPhases(lines).flatMap(({ name, otherErrors, outages, broken, slowCut }) => {
    const allowed = toleranceOf(name)
    return [
      otherErrors.length > 0 && `${name}: errors that no document names: ${otherErrors.join(', ')}`,
      outages > 0 && allowed.outage !== true && `${name}: ${outages} answers of an outage`,
      broken.length > 0 && allowed.broken !== true && `${name}: broken connections: ${broken.join(', ')}`,
      slowCut > 0 && allowed.outage !== true && allowed.broken !== true && `${name}: ${slowCut} uploads cut`,
    ].filter((sentence) => sentence !== false)
  })
}
