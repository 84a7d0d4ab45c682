import type { Db } from '@matte/core/db/database'
import { type MasterKeys, unseal } from '@matte/core/runtime/seal'

type QueuedMail = {
  readonly template: string
  readonly to: string | null
  readonly data: Readonly<Record<string, string>>
}

/** Queued mails of an address or a person, decrypted, oldest first. */
export async function readMails(
  db: Db,
  masterKeys: MasterKeys,
  of: { readonly to?: string; readonly userId?: string },
): Promise<QueuedMail[]> {
  const rows = await db
    .selectFrom('mail')
    .select(['id', 'template', 'to_address', 'data_sealed'])
    .$if(of.to !== undefined, (query) => query.where('to_address', '=', of.to as string))
    .$if(of.userId !== undefined, (query) => query.where('user_id', '=', of.userId as string))
    .orderBy('created_at')
    .execute()
  return rows.map(({ id, template, to_address, data_sealed }) => ({
    template,
    to: to_address,
    data: JSON.parse(unseal(masterKeys, id, data_sealed ?? '')),
  }))
}
