import { expect, it } from 'vitest'
import { stackDays } from './stack-days.ts'

const days = ['2026-11-22', '2026-11-23', '2026-11-24']
const share = (name: string, ...tasks: (readonly [day: number, totalTasks: number])[]) => ({
  name,
  daily: tasks.map(([day, totalTasks]) => ({ date: days[day] ?? '', totalTasks })),
})

it('fills days without tasks, and shows three shares as they are', () => {
  const series = stackDays([share('a', [0, 4], [2, 1]), share('b', [1, 2]), share('c')], days, 'Others')
  expect(series.map(({ name, values }) => [name, values])).toEqual([
    ['a', [4, 0, 1]],
    ['b', [0, 2, 0]],
    ['c', [0, 0, 0]],
  ])
})

it('sums up the others of more', () => {
  const shares = [share('a', [0, 9]), share('b', [0, 5]), share('c', [0, 3]), share('d', [0, 1], [2, 2])]
  expect(stackDays(shares, days, 'Others').map(({ name, values }) => [name, values])).toEqual([
    ['a', [9, 0, 0]],
    ['b', [5, 0, 0]],
    ['Others', [4, 0, 2]],
  ])
})
