import { describe, expect, it } from 'vitest'
import { SlotPool } from './slot-pool.ts'

describe('a pool of eight slots', () => {
  it('gives two slots to each holder until all are used', () => {
    const pool = new SlotPool(8)
    for (const holder of ['a', 'b', 'c', 'd']) {
      pool.enter(holder)
      expect(pool.hasSlot(holder)).toBe(true)
      pool.enter(holder)
      expect(pool.hasSlot(holder)).toBe(false)
    }
    expect(pool.hasSlot('e')).toBe(false)
    pool.leave('a')
    expect([pool.hasSlot('a'), pool.hasSlot('b'), pool.hasSlot('e'), pool.taken]).toEqual([true, false, true, 7])
  })

  it('lets returning holders exceed the limit, and recovers when they leave', () => {
    const pool = new SlotPool(8)
    for (let i = 0; i < 10; i++) pool.enter('a')
    expect([pool.taken, pool.hasSlot('b')]).toEqual([10, false])
    for (let i = 0; i < 10; i++) pool.leave('a')
    expect([pool.taken, pool.hasSlot('a')]).toEqual([0, true])
  })

  it('counts a slot for all of its holders', () => {
    const pool = new SlotPool(8)
    pool.enter('a', 'person')
    pool.enter('b', 'person')
    expect([pool.hasSlot('c', 'person'), pool.hasSlot('c', 'other'), pool.taken]).toEqual([false, true, 2])
    pool.leave('a', 'person')
    expect([pool.hasSlot('c', 'person'), pool.taken]).toEqual([true, 1])
  })

  it('gives each holder one slot in a small pool', () => {
    expect(new SlotPool(1).hasSlot('a')).toBe(true)
  })
})
