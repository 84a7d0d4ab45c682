import type { ListTotal } from '@matte/core/db/page'
import { describe, expect, it } from 'vitest'
import { parseDay, readListQuery, readPage } from './paging.ts'

const span = (text: string) => {
  const found = parseDay(text)
  return found && [found.from.toISOString(), found.before.toISOString()]
}

describe('parseDay', () => {
  it.each([
    ['2026-03-01', '2026-03-01T00:00:00.000Z', '2026-03-02T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z', '2024-03-01T00:00:00.000Z'],
    ['2026-03-01T10:30', '2026-03-01T10:30:00.000Z', '2026-03-01T10:30:00.001Z'],
    ['2026-03-01T10:30:15Z', '2026-03-01T10:30:15.000Z', '2026-03-01T10:30:15.001Z'],
    ['2026-03-01T10:30:15.123456789Z', '2026-03-01T10:30:15.123Z', '2026-03-01T10:30:15.124Z'],
    ['2026-03-01T10:30:15,5Z', '2026-03-01T10:30:15.500Z', '2026-03-01T10:30:15.501Z'],
    ['2026-03-01t10:30:15z', '2026-03-01T10:30:15.000Z', '2026-03-01T10:30:15.001Z'],
    ['2026-03-01T10:30:15-0530', '2026-03-01T16:00:15.000Z', '2026-03-01T16:00:15.001Z'],
    // A `+` in a query that was not encoded arrives as a space.
    ['2026-03-01T10:30:15 02:00', '2026-03-01T08:30:15.000Z', '2026-03-01T08:30:15.001Z'],
  ])('%s is %s up to %s', (text, from, before) => {
    expect(span(text)).toEqual([from, before])
  })

  it.each([
    '',
    '2026-02-29',
    '2026-04-31',
    '2026-00-10',
    '2026-1-1',
    '20260301',
    '2026-03-01T',
    '2026-03-01T24:30',
    '1e3',
    '2026-03-01Z',
  ])('%j is not a date', (text) => {
    expect(parseDay(text)).toBeNull()
  })
})

describe('a cursor', () => {
  const position = { createdAtMicros: '1772366400123456', id: '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1' }

  it('holds the position and the number of the next page', async () => {
    const rows = [{ id: position.id }, { id: 'one more' }]
    const { nextCursor } = await readPage(readListQuery({ page: 4, pageSize: 1 }), {
      read: async () => [rows, { total: 100, isMinimum: false }] as const,
      micros: () => position.createdAtMicros,
      view: ({ id }) => id,
    })
    const { after, page } = readListQuery({ page: 1, pageSize: 20, cursor: nextCursor ?? '' })
    expect(after).toMatchObject(position)
    expect(page).toBe(5)
  })

  const nextOf = async (total: ListTotal, after?: string) => {
    const rows = [{ id: position.id }, { id: 'one more' }]
    const query = { page: 1, pageSize: 1, ...(after !== undefined && { cursor: after }) }
    const counted: (ListTotal | undefined)[] = []
    const page = await readPage(readListQuery(query), {
      read: async (range) => {
        counted.push(range.total)
        return [rows, range.total ?? total] as const
      },
      micros: () => position.createdAtMicros,
      view: ({ id }) => id,
    })
    return { page, known: counted[0] }
  }

  it('of a list longer than the bound spares the next pages the count', async () => {
    const long = { total: 10_000, isMinimum: true }
    const first = await nextOf(long)
    expect(first.known).toBeUndefined()
    const second = await nextOf({ total: 1, isMinimum: false }, first.page.nextCursor ?? '')
    expect(second.known).toEqual(long)
    expect(second.page).toMatchObject({ page: 2, total: 10_000, totalIsMinimum: true, totalPages: 10_000 })
    expect((await nextOf(long, second.page.nextCursor ?? '')).known).toEqual(long)
  })

  it('of a counted list has it counted again', async () => {
    const first = await nextOf({ total: 10_000, isMinimum: false })
    const second = await nextOf({ total: 9_999, isMinimum: false }, first.page.nextCursor ?? '')
    expect(second.known).toBeUndefined()
    expect(second.page.total).toBe(9_999)
  })

  it.each([
    '',
    '.',
    Buffer.from(`1.${position.id}.1.short`).toString('base64url'),
    Buffer.from(`1.${position.id}.1.long.long`).toString('base64url'),
    'AAAA',
    Buffer.from('1.2.3').toString('base64url'),
    Buffer.from(`x.${position.id}.1`).toString('base64url'),
  ])('%j is refused', (cursor) => {
    expect(() => readListQuery({ page: 1, pageSize: 20, cursor })).toThrow(
      expect.objectContaining({ code: 'INVALID_PARAMS' }),
    )
  })
})
