import { describe, expect, it } from 'vitest'
import { fairInspectionGate, inspectionGate } from './inspection-gate.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

it('runs as many at once as it is given, in the order they came, and goes on after an error', async () => {
  const gate = inspectionGate(2)
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

describe('fairInspectionGate', () => {
  it('lets another workspace in before those of one that has its share', async () => {
    const turns = fairInspectionGate(3, 2)
    const begun: string[] = []
    const end = Promise.withResolvers<void>()
    const inspect = (workspaceId: string): Promise<void> =>
      turns.run(workspaceId, () => {
        begun.push(workspaceId)
        return end.promise
      })
    const all = ['a', 'a', 'a', 'a', 'b', 'b'].map(inspect)
    await Promise.resolve()
    expect(begun).toEqual(['a', 'a', 'b'])
    end.resolve()
    await Promise.all(all)
    expect(begun.toSorted()).toEqual(['a', 'a', 'a', 'a', 'b', 'b'])
  })
})
