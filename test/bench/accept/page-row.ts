import { sql } from 'kysely'
import { median } from '../median.ts'
import type { Row } from '../row.ts'
import type { World } from './world.ts'

/** A list of 100,000 tasks: its first page, and its page 5,000 by the cursor of the one before. */
export async function pageRow({ port, callers, db }: World): Promise<Row> {
  const caller = callers[1]
  if (caller === undefined) throw new Error('there is no second workspace')
  await sql`
    insert into task (workspace_id, upload_id, source_key, source_etag, source_size_bytes, model_version, credit_cost,
                      status, completed_at, created_at)
    select ${caller.workspaceId}::uuid, u.id, u.object_key, '"e"', 1, 'service-v2', 1, 'canceled', now(),
           now() - n * interval '1 second'
      from upload u, generate_series(1, 101000) n where u.object_key = ${caller.objectKey}`.execute(db)
  await sql`analyze task`.execute(db)
  const read = async (query: string): Promise<{ nextCursor: string | null }> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/open/developer/tasks?pageSize=20&${query}`, {
      headers: { 'x-api-key': caller.apiKey },
    })
    return ((await answer.json()) as { data: { nextCursor: string | null } }).data
  }
  const { nextCursor } = await read('page=4999')
  const first: number[] = []
  const deep: number[] = []
  for (let i = 0; i < 60; i++) {
    for (const [times, query] of [
      [first, 'page=1'],
      [deep, `cursor=${nextCursor}`],
    ] as const) {
      const begun = performance.now()
      await read(query)
      times.push(performance.now() - begun)
    }
  }
  const [firstMs, deepMs] = [median(first), median(deep)]
  return {
    name: 'page 5,000 by cursor ÷ page 1',
    ratio: deepMs / firstMs,
    target: { atMost: 2 },
    detail: `${deepMs.toFixed(1)} ms, ${firstMs.toFixed(1)} ms`,
  }
}
