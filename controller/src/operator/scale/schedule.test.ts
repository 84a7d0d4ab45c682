import { describe, expect, it } from 'vitest'
import { readTimetable, type Schedule } from './schedule.ts'

const office: Schedule = {
  name: 'office',
  timeZone: 'Europe/Berlin',
  start: '0 8 * * MON-FRI',
  end: '0 18 * * MON-FRI',
  minReplicas: 5,
}

/** Names of the active schedules at a time in UTC. */
const inForce = (schedules: readonly Schedule[], utc: string): readonly string[] =>
  readTimetable(schedules).at(new Date(utc))?.names ?? []

describe('readTimetable', () => {
  // Friday, 17 July 2026: Berlin is two hours ahead of UTC.
  it.each([
    ['before the start', '2026-07-17T05:59:59Z', []],
    ['in the minute of the start', '2026-07-17T06:00:00Z', ['office']],
    ['within', '2026-07-17T12:34:56Z', ['office']],
    ['to the last second', '2026-07-17T15:59:59Z', ['office']],
    ['no longer in the minute of the end', '2026-07-17T16:00:00Z', []],
    ['not on Saturday', '2026-07-18T10:00:00Z', []],
    ['in winter time, before the start', '2026-01-16T06:30:00Z', []],
    ['in winter time, at the start', '2026-01-16T07:00:00Z', ['office']],
  ])('follows the wall clock of its time zone: %s', (_name, utc, names) => {
    expect(inForce([office], utc)).toEqual(names)
  })

  it('evaluates each time zone separately', () => {
    const far = { ...office, name: 'far', timeZone: 'Australia/Lord_Howe' } // half an hour of summer time
    expect(inForce([office, far], '2026-07-16T21:29:00Z')).toEqual([])
    expect(inForce([office, far], '2026-07-16T21:30:00Z')).toEqual(['far'])
    expect(inForce([office, far], '2026-01-15T21:00:00Z')).toEqual(['far'])
  })

  it('continues over midnight and New Year', () => {
    const night = { ...office, start: '0 22 * * *', end: '0 6 * * *', timeZone: 'UTC' }
    expect(inForce([night], '2026-12-31T23:59:00Z')).toEqual(['office'])
    expect(inForce([night], '2027-01-01T05:59:00Z')).toEqual(['office'])
    expect(inForce([night], '2027-01-01T06:00:00Z')).toEqual([])
  })

  it('stays in force when it starts again before its end', () => {
    const twice = { ...office, start: '0 8,9 * * *', timeZone: 'UTC' }
    expect(inForce([twice], '2026-07-17T08:30:00Z')).toEqual(['office'])
    expect(inForce([twice], '2026-07-17T17:59:00Z')).toEqual(['office'])
  })

  it('is always in force if start and end are equal', () => {
    const always = { ...office, start: '0 8 * * *', end: '0 8 * * *', timeZone: 'UTC' }
    expect(inForce([always], '2026-07-17T07:59:00Z')).toEqual(['office'])
    expect(inForce([always], '2026-07-17T08:00:00Z')).toEqual(['office'])
  })

  it('has no gap if one end is the next start', () => {
    const week = { ...office, start: '0 0 * * MON-FRI', end: '0 0 * * TUE-SAT', timeZone: 'UTC' }
    expect(inForce([week], '2026-07-14T00:00:00Z')).toEqual(['office'])
    expect(inForce([week], '2026-07-18T00:00:00Z')).toEqual([])
  })

  it('reads months, days of the month and steps', () => {
    const fair = { ...office, start: '*/30 9 24 DEC *', end: '15 9 24 DEC *', timeZone: 'UTC' }
    expect(inForce([fair], '2026-12-24T09:14:00Z')).toEqual(['office'])
    expect(inForce([fair], '2026-12-24T09:15:00Z')).toEqual([])
    expect(inForce([fair], '2026-12-24T09:30:00Z')).toEqual(['office'])
    expect(inForce([fair], '2026-07-24T09:00:00Z')).toEqual(['office'])
  })
})

describe('a change of the clocks', () => {
  const early = { ...office, start: '30 2 * * *', end: '30 5 * * *' }

  it('starts right after a skipped hour', () => {
    // On 29 March 2026 Berlin's clocks go from 02:00 to 03:00, at 01:00 UTC; there is no 02:30.
    expect(inForce([early], '2026-03-29T00:59:00Z')).toEqual([])
    expect(inForce([early], '2026-03-29T01:00:00Z')).toEqual(['office'])
    expect(inForce([early], '2026-03-29T03:29:00Z')).toEqual(['office'])
    expect(inForce([early], '2026-03-29T03:30:00Z')).toEqual([])
  })

  it('starts in the first of two equal hours and lasts through the second', () => {
    // On 25 October 2026 they go from 03:00 back to 02:00, at 01:00 UTC; 02:30 comes at 00:30 and at 01:30 UTC.
    expect(inForce([early], '2026-10-25T00:29:00Z')).toEqual([])
    expect(inForce([early], '2026-10-25T00:30:00Z')).toEqual(['office'])
    expect(inForce([early], '2026-10-25T01:15:00Z')).toEqual(['office'])
    expect(inForce([early], '2026-10-25T04:30:00Z')).toEqual([])
  })

  it('ends once in a repeated hour', () => {
    const late = { ...office, start: '0 1 * * *', end: '30 2 * * *' }
    expect(inForce([late], '2026-10-25T00:29:00Z')).toEqual(['office'])
    expect(inForce([late], '2026-10-25T00:30:00Z')).toEqual([])
    expect(inForce([late], '2026-10-25T01:15:00Z')).toEqual([])
  })

  it('drops a schedule within the skipped hour', () => {
    const within = { ...office, start: '10 2 * * *', end: '50 2 * * *' }
    expect(inForce([within], '2026-03-29T00:59:00Z')).toEqual([])
    expect(inForce([within], '2026-03-29T01:01:00Z')).toEqual([])
    const between = { ...within, end: '0 3,15 * * *' }
    expect(inForce([between], '2026-03-29T01:01:00Z')).toEqual([])
  })

  it('keeps a schedule that only pauses in the skipped hour', () => {
    const pausing = { ...office, start: '50 2 * * *', end: '10 2 * * *' }
    expect(inForce([pausing], '2026-03-29T00:59:00Z')).toEqual(['office'])
    expect(inForce([pausing], '2026-03-29T01:01:00Z')).toEqual(['office'])
    const fromThree = { ...office, start: '0 3 * * *', end: '30 2 * * *' }
    expect(inForce([fromThree], '2026-03-29T01:01:00Z')).toEqual(['office'])
  })
})

describe('several schedules', () => {
  const at = new Date('2026-07-17T10:00:00Z')
  const always = { timeZone: 'UTC', start: '0 0 * * *', end: '0 0 * * *' }

  it('combine to the highest minimum and the lowest maximum', () => {
    const table = readTimetable([
      { ...always, name: 'a', minReplicas: 2, maxReplicas: 9 },
      { ...always, name: 'b', minReplicas: 4 },
      { ...always, name: 'c', maxReplicas: 7 },
    ])
    expect(table.at(at)).toEqual({ names: ['a', 'b', 'c'], minReplicas: 4, maxReplicas: 7 })
  })

  it('leave a bound undefined that none of them sets', () => {
    expect(readTimetable([{ ...always, name: 'a', maxReplicas: 7 }]).at(at)).toEqual({ names: ['a'], maxReplicas: 7 })
    expect(readTimetable([]).at(at)).toBeUndefined()
  })

  it('are evaluated again when one starts or ends, and when the clock is set back', () => {
    const table = readTimetable([office])
    const answers = ['05:59:59', '06:00:00', '05:59:00', '06:00:30', '15:59:59', '16:00:00'].map((time) =>
      table.at(new Date(`2026-07-17T${time}Z`)),
    )
    expect(answers.map((answer) => answer !== undefined)).toEqual([false, true, false, true, true, false])
  })

  it.each(['2026-03-28', '2026-10-24'])('give the same result from the cache as without it, from %s', (day) => {
    const berlin = { ...office, start: '30 2 * * *', end: '10 8,20 * * *' }
    const table = readTimetable([berlin])
    for (let minute = 0; minute < 3 * 1_440; minute += 10) {
      const now = new Date(Date.parse(day) + minute * 60_000)
      expect([now, inForce([berlin], now.toISOString())]).toEqual([now, table.at(now)?.names ?? []])
    }
  })

  it.each([
    ['a time zone that is unknown', { timeZone: 'Europe/Atlantis' }, 'timeZone Europe/Atlantis is unknown'],
    ['a pattern of six fields', { start: '0 0 8 * * *' }, 'start 0 0 8 * * * is not a cron pattern of five fields'],
    ['an hour that does not exist', { end: '0 25 * * *' }, 'end 0 25 * * * is not a cron pattern of five fields'],
    ['a nickname', { end: '@daily' }, 'end @daily is not a cron pattern of five fields'],
    ['a day that never comes', { start: '0 8 31 2 *' }, 'start 0 8 31 2 * never occurs'],
  ])('skip one with %s, and report it', (_name, changes, message) => {
    const table = readTimetable([office, { ...office, name: 'broken', ...changes }])
    expect(table.errors).toEqual([{ name: 'broken', message: expect.stringContaining(message) }])
    expect(table.at(at)?.names).toEqual(['office'])
  })
})
