// The load client. It sends mixed images until it is stopped, waits for open tasks and their webhooks, and then reads
// the service's counts. It runs in a pod, from these files only.
import { setTimeout as pause } from 'node:timers/promises'
import { mix } from './kinds.ts'
import type { Usage } from './lines.ts'
import { beginPhase, readProgress, write } from './log.ts'
import { callApi, doOne } from './one-task.ts'
import { receiveWebhooks, takeCommands } from './receiver.ts'

const lanes = 4
/** Slow uploads: some are in flight whenever an API pod stops. */
const slowLanes = 4
const slowUploadMs = 7_000
const webhooksWithinMs = 240_000

let stopping = false
let secret = ''
let begun = 0

async function lane(name: string, slowlyMs?: number): Promise<void> {
  while (!stopping) {
    begun += 1
    const kind = slowlyMs === undefined ? (mix[begun % mix.length] ?? 'small') : 'megapixel'
    await doOne(`${name}-${begun}`, kind, slowlyMs)
  }
}

async function untilWebhooks(): Promise<void> {
  const deadline = performance.now() + webhooksWithinMs
  while (readProgress().announced < readProgress().ended && performance.now() < deadline) await pause(250)
}

async function listTasks(): Promise<string[]> {
  type Page = { items: { id: string }[]; nextCursor: string | null }
  const ids: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page: Page = await callApi<Page>('list', `/tasks?pageSize=100${query}`)
    ids.push(...page.items.map(({ id }) => id))
    cursor = page.nextCursor
  }
  return ids
}

await receiveWebhooks(() => secret)
await takeCommands(() => {
  stopping = true
})
secret = (await callApi<{ signingSecret: string }>('secret', '/signing-secret')).signingSecret
const fast = Array.from({ length: lanes }, (_, index) => lane(`lane-${index}`))
const slow = Array.from({ length: slowLanes }, (_, index) => lane(`slow-${index}`, slowUploadMs))
await Promise.all([...fast, ...slow])
await untilWebhooks()
const listed = await listTasks()
const usage = await callApi<Usage>('usage', '/usage')
beginPhase('end')
write({ type: 'totals', listed, usage })
process.exit(0)
