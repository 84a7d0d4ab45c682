import { describe, expect, it } from 'vitest'
import { Room } from './room.ts'

describe('a room of eight places', () => {
  it('has two for each holder, until all are taken', () => {
    const room = new Room(8)
    for (const holder of ['a', 'b', 'c', 'd']) {
      room.enter(holder)
      expect(room.hasPlace(holder)).toBe(true)
      room.enter(holder)
      expect(room.hasPlace(holder)).toBe(false)
    }
    expect(room.hasPlace('e')).toBe(false)
    room.leave('a')
    expect([room.hasPlace('a'), room.hasPlace('b'), room.hasPlace('e'), room.taken]).toEqual([true, false, true, 7])
  })

  it('lets those in who return, and has places again when they have left', () => {
    const room = new Room(8)
    for (let i = 0; i < 10; i++) room.enter('a')
    expect([room.taken, room.hasPlace('b')]).toEqual([10, false])
    for (let i = 0; i < 10; i++) room.leave('a')
    expect([room.taken, room.hasPlace('a')]).toEqual([0, true])
  })

  it('counts a place for all of its holders', () => {
    const room = new Room(8)
    room.enter('a', 'person')
    room.enter('b', 'person')
    expect([room.hasPlace('c', 'person'), room.hasPlace('c', 'other'), room.taken]).toEqual([false, true, 2])
    room.leave('a', 'person')
    expect([room.hasPlace('c', 'person'), room.taken]).toEqual([true, 1])
  })

  it('has one for each holder however small it is', () => {
    expect(new Room(1).hasPlace('a')).toBe(true)
  })
})
