// The statements of mails and notifications, for db/snapshots.test.ts.
import type { Db } from '../db/database.ts'
import { claimDueMails } from '../mail/claim-mails.ts'
import { deleteOldMails, giveUpOldMails, readMailAgeMs } from '../mail/old-mails.ts'
import { countUnread, listNotifications } from './list-notifications.ts'
import { type NotificationDeps, tellEndsOfTasks, tellEvents } from './make-notifications.ts'
import { markAllRead } from './mark-read.ts'
import { deleteOldNotifications } from './old-notifications.ts'

const workspaceId = 'workspace'
const after = { createdAtMicros: '1', id: 'notification' }
const happened = { event: 'credits.low_balance', key: 'lot', workspaceId, userId: null, fields: { balance: 9 } }
const recipient = { id: 'user', address: 'a@example.com', email_verified_at: null, in_app: null, email: null }
const telling = (db: Db): NotificationDeps => ({ db, masterKeys: new Map(), mailEnabled: true })

type Sending = { readonly send: (db: Db) => Promise<unknown>; readonly answers?: readonly (readonly unknown[])[] }

export const tellingStatements: Readonly<Record<string, Sending>> = {
  'mail/claim-due-mails': { send: (db) => claimDueMails(db, { limit: 4, claimMs: 75_000 }) },
  'mail/give-up-old-mails': { send: (db) => giveUpOldMails(db) },
  'mail/read-mail-age': { send: (db) => readMailAgeMs(db) },
  'mail/delete-old-mails': { send: (db) => deleteOldMails(db) },
  'notification/list-notifications': {
    send: async (db) => {
      await listNotifications(db, { userId: 'user', unread: false }, { limit: 20, offset: 40 })
      await listNotifications(db, { userId: 'user', unread: true }, { limit: 20, offset: 0, after })
      await countUnread(db, 'user')
    },
  },
  'notification/mark-all-read': { send: (db) => markAllRead(db, 'user') },
  'notification/delete-old-notifications': { send: (db) => deleteOldNotifications(db) },
  'notification/tell-events': {
    send: (db) => tellEvents(telling(db), {}),
    answers: [[{ id: '1' }], [happened], [recipient], [{ id: 'notification' }]],
  },
  'notification/tell-ends-of-tasks': {
    send: (db) => tellEndsOfTasks(telling(db), {}),
    answers: [[{ id: '1' }]],
  },
}
