// Schedules: bounds that are in force between two times of day in some time zone. croner reads the cron patterns: it
// has no dependencies, and how patterns meet clock changes has more cases than are worth writing again.
import { Cron } from 'croner'
import type { ScheduleBounds } from './bounds.ts'

export type Schedule = {
  readonly name: string
  readonly timeZone: string
  /** Cron patterns of five fields: minute, hour, day of month, month, weekday. */
  readonly start: string
  readonly end: string
  readonly minReplicas?: number
  readonly maxReplicas?: number
}

export type ScheduleError = { readonly name: string; readonly message: string }

export type Timetable = {
  /**
   * The bounds in force at `now`, a wall time; undefined when no schedule is in force. Cheap to call each second: the
   * answer is kept until a schedule starts or ends.
   */
  readonly at: (now: Date) => ScheduleBounds | undefined
  /** Schedules that cannot be read. They are not in force; the others are. */
  readonly errors: readonly ScheduleError[]
}

type Entry = { readonly schedule: Schedule; readonly start: Cron; readonly end: Cron }

export function readTimetable(schedules: readonly Schedule[]): Timetable {
  const errors: ScheduleError[] = []
  const entries = schedules.flatMap((schedule) => {
    try {
      return [{ schedule, start: readPattern(schedule, 'start'), end: readPattern(schedule, 'end') }]
    } catch (error) {
      errors.push({ name: schedule.name, message: error instanceof Error ? error.message : String(error) })
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
  return { at, errors }
}

function readPattern(schedule: Schedule, which: 'start' | 'end'): Cron {
  const { timeZone } = schedule
  try {
    new Intl.DateTimeFormat('en', { timeZone })
  } catch {
    throw new Error(`timeZone ${timeZone} is not known: write an IANA name such as Europe/Berlin`)
  }
  try {
    // croner accepts nicknames such as @daily in place of five fields.
    if (schedule[which].trim().split(/\s+/).length !== 5) throw new Error('it has another number of them')
    const pattern = new Cron(schedule[which], { timezone: timeZone, mode: '5-part', paused: true })
    if (pattern.previousRuns(1).length > 0) return pattern
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`${which} ${schedule[which]} is not a cron pattern of five fields: ${detail}`, { cause })
  }
  throw new Error(`${which} ${schedule[which]} never comes: there is no such day`)
}

/** In force from a start to the next end. Looks back in time, since a start may come twice before an end. */
function isInForce({ schedule, start, end }: Entry, now: Date): boolean {
  const justAfter = new Date(Math.floor(now.getTime() / 60_000) * 60_000 + 1_000)
  const [started] = start.previousRuns(1, justAfter)
  const [ended] = end.previousRuns(1, justAfter)
  if (!started || !ended || started.getTime() !== ended.getTime()) return !!started && !(ended && ended > started)
  // In the same minute the start wins, so that a schedule from midnight to midnight, Monday to Friday, has no gaps. But
  // a time in the hour that the clocks skip falls right after it, and counts as earlier than one that is really meant.
  if (start.match(started)) return true
  return !end.match(ended) && minuteOfDay(schedule.start) >= minuteOfDay(schedule.end)
}

/** Of a pattern with one minute and one hour: only those move out of a skipped hour. */
const minuteOfDay = (pattern: string): number => {
  const [minute, hour] = pattern.trim().split(/\s+/)
  return Number(hour) * 60 + Number(minute)
}

/** When the next of them starts or ends, in milliseconds since the epoch; at most an hour from now. */
function nextChange(entries: readonly Entry[], now: Date): number {
  const runs = entries.flatMap(({ start, end }) => [start.nextRun(now), end.nextRun(now)])
  return Math.min(now.getTime() + 3_600_000, ...runs.flatMap((run) => run?.getTime() ?? []))
}

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
