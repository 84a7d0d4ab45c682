// Schedules: bounds that apply between two times of day in a time zone. croner parses the patterns and handles clock
// changes; it has no dependencies.
import { Cron } from 'croner'
import type { ScheduleBounds } from './bounds.ts'

export type Schedule = {
  readonly name: string
  readonly timeZone: string
  readonly start: string
  readonly end: string
  readonly minReplicas?: number
  readonly maxReplicas?: number
}

export type ScheduleError = { readonly name: string; readonly message: string }

export type Timetable = {
  /** Bounds in force at a wall time; undefined without an active schedule. Cached until a schedule starts or ends. */
  readonly at: (now: Date) => ScheduleBounds | undefined
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
    throw new Error(`timeZone ${timeZone} is unknown: use an IANA name such as Europe/Berlin`)
  }
  try {
    // croner also accepts nicknames such as @daily.
    if (schedule[which].trim().split(/\s+/).length !== 5) throw new Error('the number of fields differs')
    const pattern = new Cron(schedule[which], { timezone: timeZone, mode: '5-part', paused: true })
    if (pattern.previousRuns(1).length > 0) return pattern
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`${which} ${schedule[which]} is not a cron pattern of five fields: ${detail}`, { cause })
  }
  throw new Error(`${which} ${schedule[which]} never occurs: there is no such day`)
}

/** In force from a start to the next end. Looks back, because a start may occur twice before an end. */
function isInForce({ schedule, start, end }: Entry, now: Date): boolean {
  const justAfter = new Date(Math.floor(now.getTime() / 60_000) * 60_000 + 1_000)
  const [started] = start.previousRuns(1, justAfter)
  const [ended] = end.previousRuns(1, justAfter)
  if (!started || !ended || started.getTime() !== ended.getTime()) return !!started && !(ended && ended > started)
  // In the same minute the start wins, so a schedule from midnight to midnight has no gaps. A time in the hour that the
  // clocks skip moves to its end and counts as the earlier one.
  if (start.match(started)) return true
  return !end.match(ended) && minuteOfDay(schedule.start) >= minuteOfDay(schedule.end)
}

/** Only patterns with one minute and one hour move out of a skipped hour. */
const minuteOfDay = (pattern: string): number => {
  const [minute, hour] = pattern.trim().split(/\s+/)
  return Number(hour) * 60 + Number(minute)
}

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
