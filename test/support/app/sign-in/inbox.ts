// Queued mails, decrypted as the dispatcher does.
import type { Db } from '@matte/core/db/database'
import { unseal } from '@matte/core/runtime/seal'
import type { MailData } from '@matte/people/mail/templates'
import { sql } from 'kysely'
import type { TestApi } from '../../api.ts'
import { until } from '../../until.ts'

export type ReceivedMail = Pick<MailData, 'template'> & { readonly data: Readonly<Record<string, unknown>> }

/** All mails to an address, oldest first. */
export async function mailsTo(db: Db, api: TestApi, email: string): Promise<ReceivedMail[]> {
  const rows = await db
    .selectFrom('mail')
    .select(['id', 'template', 'data_sealed'])
    .where(sql<boolean>`lower(to_address) = ${email.toLowerCase()}`)
    .orderBy('created_at')
    .execute()
  return rows.map(({ id, template, data_sealed }) => ({
    template: template as ReceivedMail['template'],
    data: JSON.parse(unseal(api.config.masterKeys, id, data_sealed ?? '')) as Record<string, unknown>,
  }))
}

/** Waits until the address has this many mails of a template; returns the tokens of their links, oldest first. */
export async function tokensTo(
  { db, api }: { readonly db: Db; readonly api: TestApi },
  email: string,
  { template, count = 1 }: { readonly template: ReceivedMail['template']; readonly count?: number },
): Promise<string[]> {
  const found = async () => (await mailsTo(db, api, email)).filter((mail) => mail.template === template)
  await until(`${count} ${template}`, async () => (await found()).length >= count)
  return (await found()).map(({ data }) => new URL(String(data.url)).searchParams.get('token') ?? '')
}

/** Waits until all requests from before sign-in are processed. */
export async function untilRequestsDone(db: Db): Promise<void> {
  await until('requests are done', async () => {
    return (await db.selectFrom('account_request').select('id').limit(1).executeTakeFirst()) === undefined
  })
}
