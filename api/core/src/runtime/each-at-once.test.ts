import { describe, expect, it } from 'vitest'
import { eachAtOnce } from './each-at-once.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('eachAtOnce', () => {
  it('processes each item once, in order, within the limit', async () => {
    const begun: number[] = []
    let running = 0
    let most = 0
    await eachAtOnce(3, [1, 2, 3, 4, 5, 6, 7, 8], async (item) => {
      begun.push(item)
      running++
      most = Math.max(most, running)
      await turn()
      running--
    })
    expect(begun).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect(most).toBe(3)
  })

  it('processes undefined items', async () => {
    let done = 0
    await eachAtOnce(1, [undefined, undefined], async () => void done++)
    expect(done).toBe(2)
  })

  it('rejects with the first error and starts nothing after it', async () => {
    const begun: number[] = []
    const work = async (item: number): Promise<void> => {
      begun.push(item)
      await turn()
      if (item === 2) throw new Error('the second')
      await turn()
    }
    await expect(eachAtOnce(2, [1, 2, 3, 4], work)).rejects.toThrow('the second')
    await turn()
    await turn()
    expect(begun).toEqual([1, 2])
  })
})
