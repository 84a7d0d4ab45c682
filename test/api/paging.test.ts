import { CompiledQuery, sql } from 'kysely'
import pg from 'pg'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import type { TaskPage } from '../support/client.ts'
import { type Caller, smallImage, useApi } from './given.ts'

const world = useApi()

describe('pages of tasks', () => {
  const count = 23
  let caller: Caller | undefined
  let all: string[] = []
  const list = (query: Record<string, string>): Promise<TaskPage> => {
    if (caller === undefined) throw new Error('the caller is there in tests only')
    return caller.client.listTasks(query)
  }

  // Times with ties, like tasks of one batch: four at one instant, a microsecond from the next.
  beforeAll(async () => {
    caller = await world.caller({ plan: 'internal' })
    const imageUrl = await caller.client.upload(await smallImage())
    for (let i = 0; i < count; i++) {
      const { id } = await caller.client.createTask({ imageUrl })
      const time = sql<Date>`'2026-03-01T23:59:59.999995Z'::timestamptz + ${Math.floor(i / 4)} * interval '1 microsecond'`
      await world.db.updateTable('task').set({ created_at: time }).where('id', '=', id).execute()
      if (i % 3 === 0) await caller.client.cancelTask(id)
    }
    const rows = await world.db
      .selectFrom('task')
      .select('id')
      .where('workspace_id', '=', caller.workspaceId)
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .execute()
    all = rows.map(({ id }) => id)
  })

  async function walk(query: Record<string, string>, next: (page: TaskPage) => Record<string, string> | undefined) {
    const pages: TaskPage[] = []
    for (let more: Record<string, string> | undefined = {}; more !== undefined; ) {
      const page: TaskPage = await list({ ...query, ...more })
      pages.push(page)
      more = next(page)
    }
    return pages
  }
  const byNumber = (query: Record<string, string>) =>
    walk(query, ({ page, totalPages }) => (page < totalPages ? { page: String(page + 1) } : undefined))
  const byCursor = (query: Record<string, string>) =>
    walk(query, ({ nextCursor }) => (nextCursor === null ? undefined : { cursor: nextCursor }))

  it.each(['1', '2', '4', '5', '22', '23', '24', '100'])(
    'of %s are the same by number and by cursor',
    async (pageSize) => {
      const numbered = await byNumber({ pageSize })
      expect(await byCursor({ pageSize })).toEqual(numbered)
      expect(numbered.flatMap(({ items }) => items.map(({ id }) => id))).toEqual(all)
      for (const page of numbered) {
        expect(page).toMatchObject({ total: count, totalPages: Math.ceil(count / Number(pageSize)) })
        expect(page.nextCursor === null).toBe(page.page === page.totalPages)
      }
    },
  )

  it.each([
    { status: 'canceled' },
    { status: 'queued', startDate: '2026-03-02' },
    { startDate: '2026-03-01', endDate: '2026-03-01' },
    { startDate: '0001-01-01', endDate: '9999-12-31' },
  ])('filtered by %j are the same by number and by cursor', async (filter) => {
    const numbered = await byNumber({ ...filter, pageSize: '2' })
    expect(numbered[0]?.total).toBeGreaterThan(0)
    expect(await byCursor({ ...filter, pageSize: '2' })).toEqual(numbered)
    const seen = numbered.flatMap(({ items }) => items)
    expect(seen.length).toBe(numbered[0]?.total)
    if (filter.status) expect(new Set(seen.map(({ status }) => status))).toEqual(new Set([filter.status]))
  })

  it('assign the end of a day to the right day', async () => {
    const [first, second] = [
      await list({ startDate: '2026-03-01', endDate: '2026-03-01' }),
      await list({ startDate: '2026-03-02', endDate: '2026-03-02' }),
    ]
    expect([first.total, second.total]).toEqual([20, 3])
  })

  it('continue from a cursor with another size', async () => {
    const { nextCursor } = await list({ pageSize: '3' })
    const rest = await list({ pageSize: '100', cursor: nextCursor ?? '' })
    expect(rest.items.map(({ id }) => id)).toEqual(all.slice(3))
  })

  it('treat empty values as absent', async () => {
    const plain = await list({})
    expect(await list({ page: '', pageSize: '', cursor: '', status: '', startDate: '', endDate: '' })).toEqual(plain)
    const { nextCursor } = await list({ pageSize: '5' })
    const second = await list({ pageSize: '5', page: '', cursor: nextCursor ?? '' })
    expect(second.items.map(({ id }) => id)).toEqual(all.slice(5, 10))
  })

  it('past the end are empty, and a cursor of a deleted task continues behind it', async () => {
    expect(await list({ page: '3', pageSize: '20' })).toMatchObject({
      items: [],
      page: 3,
      total: count,
      nextCursor: null,
    })
    const cursor = Buffer.from('0.0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1.7').toString('base64url')
    expect(await list({ cursor })).toMatchObject({ items: [], page: 7, total: count, nextCursor: null })
    const late = Buffer.from('99999999999999999.0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1.2').toString('base64url')
    expect((await list({ cursor: late, pageSize: '100' })).items.map(({ id }) => id)).toEqual(all)
  })

  it.each([
    [{}, 'task_page'],
    [{ status: 'queued' }, 'task_page_status'],
    [{ startDate: '2026-03-01', endDate: '2026-03-02' }, 'task_page'],
  ])('filtered by %j reach a deep position by index, without reading earlier rows', async (filter, index) => {
    const { nextCursor } = await list({ ...filter, pageSize: '5' })
    const { text, values } = await sentFor(() => list({ ...filter, pageSize: '5', cursor: nextCursor ?? '' }))
    await world.db.transaction().execute(async (tx) => {
      // With so few rows a scan is cheaper; the index must be usable from the position.
      await sql`set local enable_seqscan = off`.execute(tx)
      await sql`set local enable_bitmapscan = off`.execute(tx)
      const { rows } = await tx.executeQuery<{ 'QUERY PLAN': string }>(CompiledQuery.raw(`explain ${text}`, values))
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      expect(plan).toMatch(new RegExp(`Index Scan using ${index} on task`))
      expect(plan).toMatch(/Index Cond: .*ROW\(created_at, id\) < ROW/)
      expect(plan).not.toContain('Sort')
    })
  })
})

type Statement = { readonly text: string; readonly values: unknown[] }

/** The statement of a page that the API, running in this program, sends meanwhile. */
async function sentFor(act: () => Promise<unknown>): Promise<Statement> {
  const query = vi.spyOn(pg.Client.prototype, 'query')
  try {
    await act()
    const sent = query.mock.calls.map(([statement]) => statement as unknown as Statement)
    const pages = sent.filter(({ text }) => / from "task" .* order by /.test(text))
    expect(pages).toHaveLength(1)
    return pages[0] as Statement
  } finally {
    query.mockRestore()
  }
}

describe('the total of a list', () => {
  /** Canceled rows of one workspace, without other effects. */
  async function givenRows({ workspaceId, client }: Caller, count: number): Promise<void> {
    const imageUrl = await client.upload(await smallImage())
    await sql`
      insert into task (workspace_id, upload_id, source_key, source_etag, source_size_bytes, model_version, credit_cost,
                        status, completed_at)
      select workspace_id, id, object_key, 'e', 1, 'service-v2', 1, 'canceled', now()
        from upload, generate_series(1, ${count}::int) where object_key = ${imageUrl}`.execute(world.db)
    await sql`
      insert into batch (workspace_id, total_count, canceled_count, model_version, status, completed_at)
      select ${workspaceId}::uuid, 1, 1, 'service-v2', 'completed', now()
        from generate_series(1, ${count}::int)`.execute(world.db)
  }

  it.each(['/tasks', '/batch-tasks'])('of %s is exact up to 10,000 and a minimum above', async (path) => {
    const caller = await world.caller({ plan: 'internal' })
    await givenRows(caller, 10_000)
    const read = async (): Promise<TaskPage> =>
      (await caller.client.call<TaskPage>('GET', `${path}?pageSize=100&page=101`)).data
    const exact = await read()
    expect(exact).toMatchObject({ items: [], total: 10_000, totalPages: 100, nextCursor: null })
    expect(exact).not.toHaveProperty('totalIsMinimum')
    await givenRows(caller, 1)
    const more = await read()
    expect(more).toMatchObject({ total: 10_000, totalIsMinimum: true, totalPages: 100 })
    expect(more.items).toHaveLength(1)
  })
})
