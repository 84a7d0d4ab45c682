import { describe, expect, it } from 'vitest'
import { createBudget } from './budget.ts'

/** Runs pending callbacks. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('budget', () => {
  it('admits what fits; the rest waits for a release', async () => {
    const budget = createBudget(100)
    const first = await budget.acquire(60)
    await budget.acquire(40)
    let admitted = false
    const third = budget.acquire(50).then((release) => {
      admitted = true
      return release
    })
    await settle()
    expect(admitted).toBe(false)
    first()
    ;(await third)()
    expect(budget.used()).toBe(40)
  })

  it('never holds more than the total, and serves in order', async () => {
    const budget = createBudget(100)
    const order: number[] = []
    let most = 0
    const sizes = [70, 20, 90, 10, 10, 100, 5]
    await Promise.all(
      sizes.map(async (pixels, index) => {
        const release = await budget.acquire(pixels)
        order.push(index)
        most = Math.max(most, budget.used())
        await settle()
        release()
      }),
    )
    expect(most).toBeLessThanOrEqual(100)
    expect(order).toEqual(sizes.map((_, index) => index))
    expect(budget.used()).toBe(0)
  })

  it('admits an image larger than the budget once it is alone', async () => {
    const budget = createBudget(100)
    const small = await budget.acquire(1)
    const large = budget.acquire(1000)
    await settle()
    expect(budget.used()).toBe(1)
    small()
    ;(await large)()
    expect(budget.used()).toBe(0)
  })

  it('removes a waiter whose signal aborts, and admits those behind it', async () => {
    const budget = createBudget(100)
    await budget.acquire(50)
    const stop = new AbortController()
    const large = budget.acquire(80, stop.signal)
    const small = budget.acquire(30)
    stop.abort(new Error('claim lost'))
    await expect(large).rejects.toThrow('claim lost')
    await small
    expect(budget.used()).toBe(80)
    await expect(budget.acquire(1, stop.signal)).rejects.toThrow('claim lost')
  })

  it('releases once, however often release is called', async () => {
    const budget = createBudget(100)
    const release = await budget.acquire(50)
    await budget.acquire(50)
    release()
    release()
    expect(budget.used()).toBe(50)
  })

  it('rejects beyond the queue’s limit', async () => {
    const budget = createBudget(10, 1)
    await budget.acquire(10)
    const stop = new AbortController()
    const waiting = budget.acquire(10, stop.signal)
    await expect(budget.acquire(10)).rejects.toThrow(RangeError)
    stop.abort()
    await expect(waiting).rejects.toThrow()
  })
})
