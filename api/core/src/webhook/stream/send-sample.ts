import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import type { WebhookEvent } from '../events.ts'
import { buildSampleEvent } from '../sample-event.ts'

/** Sends a sample to the workspace's open streams; returns its id. @throws MatteError CONFLICT if none is open */
export async function sendSampleToStreams(db: Db, workspaceId: string, event: WebhookEvent): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    insert into streamed_event (workspace_id, event, event_key, body, is_sample)
    select workspace_id, ${event}, ${`sample ${randomUUID()}`}, ${buildSampleEvent(event)}, true from webhook_stream
     where workspace_id = ${workspaceId} and open_until > now()
    returning id`.execute(db)
  const [sample] = rows
  if (sample === undefined) {
    throw new MatteError(
      'CONFLICT',
      'No stream of webhooks is open. Run `matte webhooks listen` first, or open /open/developer/webhooks/stream.',
    )
  }
  return sample.id
}
