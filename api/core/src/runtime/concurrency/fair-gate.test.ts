import { expect, it } from 'vitest'
import { createFairGate } from './fair-gate.ts'

it('runs another workspace before one that has used its share', async () => {
  const turns = createFairGate(3, 2)
  const begun: string[] = []
  const end = Promise.withResolvers<void>()
  const inspect = (workspaceId: string): Promise<void> =>
    turns.run(workspaceId, () => {
      begun.push(workspaceId)
      return end.promise
    })
  const all = ['a', 'a', 'a', 'a', 'b', 'b'].map(inspect)
  await new Promise(setImmediate)
  expect(begun).toEqual(['a', 'a', 'b'])
  end.resolve()
  await Promise.all(all)
  expect(begun.toSorted()).toEqual(['a', 'a', 'a', 'a', 'b', 'b'])
})
