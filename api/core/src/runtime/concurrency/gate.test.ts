import { expect, it } from 'vitest'
import { createGate } from './gate.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

it('runs as many at once as it is given, in the order they came, and goes on after an error', async () => {
  const gate = createGate(2)
  const begun: number[] = []
  let [running, most] = [0, 0]
  const results = await Promise.allSettled(
    Array.from({ length: 9 }, (_, index) =>
      gate.run(async () => {
        begun.push(index)
        running += 1
        most = Math.max(most, running)
        await turn()
        running -= 1
        if (index % 3 === 0) throw new Error('failed')
        return index
      }),
    ),
  )
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
  expect(most).toBe(2)
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(6)
  expect(await gate.run(async () => 'free again')).toBe('free again')
})
