// Schedules: bounds that hold between two hours of a wall clock somewhere, such as five pods on working days from 8 to
// 18 in Berlin. Cron patterns are read by croner: the way patterns meet clock changes has more cases than are worth
// writing again, and it has no dependencies.
import { Cron } from 'croner'
import type { ScheduleBounds } from './bounds.ts'

export type Schedule = {
  readonly name: string
  /** An IANA name such as `Europe/Berlin`. */
  readonly timeZone: string
  /** Cron patterns of five fields: minute, hour, day of month, month, weekday. */
  readonly start: string
  readonly end: string
  readonly minReplicas?: number
  readonly maxReplicas?: number
}

export type ScheduleFault = { readonly name: string; readonly message: string }

export type Timetable = {
  /**
   * What is in force at `now` (a wall time: schedules are about hours, not about durations); undefined when nothing
   * is. Cheap to ask each second: the answer is kept until a schedule starts or ends.
   */
  readonly at: (now: Date) => ScheduleBounds | undefined
  /** Schedules that cannot be read. They are not in force; the others are. */
  readonly faults: readonly ScheduleFault[]
}

type Entry = { readonly schedule: Schedule; readonly start: Cron; readonly end: Cron }

/** Reads the schedules once. Throws nothing: what cannot be read is told in `faults`. */
export function readTimetable(schedules: readonly Schedule[]): Timetable {
  const faults: ScheduleFault[] = []
  const entries = schedules.flatMap((schedule) => {
    try {
      return [{ schedule, start: readPattern(schedule, 'start'), end: readPattern(schedule, 'end') }]
    } catch (error) {
      faults.push({ name: schedule.name, message: error instanceof Error ? error.message : String(error) })
      return []
    }
  })
  let answer: { readonly bounds: ScheduleBounds | undefined; readonly from: number; readonly until: number } | undefined
  const at = (now: Date) => {
    const from = now.getTime()
    if (!answer || from < answer.from || from >= answer.until) {
      const bounds = joinBounds(entries.filter((entry) => isInForce(entry, now)))
      answer = { bounds, from, until: nextChange(entries, now) }
    }
    return answer.bounds
  }
  return { at, faults }
}

function readPattern(schedule: Schedule, which: 'start' | 'end'): Cron {
  const { timeZone } = schedule
  try {
    new Intl.DateTimeFormat('en', { timeZone })
  } catch {
    throw new Error(`timeZone ${timeZone} is not known: write an IANA name such as Europe/Berlin`)
  }
  try {
    // The library takes nicknames such as @daily for five fields.
    if (schedule[which].trim().split(/\s+/).length !== 5) throw new Error('it has another number of them')
    const pattern = new Cron(schedule[which], { timezone: timeZone, mode: '5-part', paused: true })
    if (pattern.previousRuns(1).length > 0) return pattern
  } catch (cause) {
    const told = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`${which} ${schedule[which]} is not a cron pattern of five fields: ${told}`, { cause })
  }
  throw new Error(`${which} ${schedule[which]} never comes: there is no such day`)
}

/** In force from a start up to the next end. Asked backwards, since a start may come twice before an end. */
function isInForce({ schedule, start, end }: Entry, now: Date): boolean {
  const justAfter = new Date(Math.floor(now.getTime() / 60_000) * 60_000 + 1_000)
  const [started] = start.previousRuns(1, justAfter)
  const [ended] = end.previousRuns(1, justAfter)
  if (!started || !ended || started.getTime() !== ended.getTime()) return !!started && !(ended && ended > started)
  // In the same minute the start wins: one from midnight to midnight, from Monday to Friday, has no gaps then. But a
  // time in the hour that the clocks leave out comes right after it, and is earlier than one that is really meant.
  if (start.match(started)) return true
  return !end.match(ended) && minuteOfDay(schedule.start) >= minuteOfDay(schedule.end)
}

/** Of a pattern with one minute and one hour: only such are moved out of the hour left out. */
const minuteOfDay = (pattern: string): number => {
  const [minute, hour] = pattern.trim().split(/\s+/)
  return Number(hour) * 60 + Number(minute)
}

/** When the next of them starts or ends, in milliseconds since the epoch; an hour on at most, which costs little. */
function nextChange(entries: readonly Entry[], now: Date): number {
  const runs = entries.flatMap(({ start, end }) => [start.nextRun(now), end.nextRun(now)])
  return Math.min(now.getTime() + 3_600_000, ...runs.flatMap((run) => run?.getTime() ?? []))
}

/** Of schedules that overlap: the highest minimum, the lowest maximum. */
function joinBounds(entries: readonly Entry[]): ScheduleBounds | undefined {
  if (entries.length === 0) return undefined
  const minimums = entries.flatMap(({ schedule }) => schedule.minReplicas ?? [])
  const maximums = entries.flatMap(({ schedule }) => schedule.maxReplicas ?? [])
  return {
    names: entries.map(({ schedule }) => schedule.name),
    ...(minimums.length > 0 && { minReplicas: Math.max(...minimums) }),
    ...(maximums.length > 0 && { maxReplicas: Math.min(...maximums) }),
  }
}
