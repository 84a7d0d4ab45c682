// Statements about people, teams and payments, for snapshots.test.ts.
import { countChanges, listChanges } from '../audit/list-changes.ts'
import { delayVerifications, listDueRequests } from '../identity/account/due-requests.ts'
import { cleanSignIn } from '../identity/clean-sign-in.ts'
import { admit } from '../identity/login/admit.ts'
import { countLoginEvents, listLoginEvents } from '../identity/login/list-login-events.ts'
import { takeAttempt } from '../identity/login/login-attempts.ts'
import { findLiveSessions } from '../identity/member-queries.ts'
import { eraseAccount } from '../identity/personal/erase-account.ts'
import { countSessions, listSessions } from '../identity/session/session-queries.ts'
import { startSession } from '../identity/session/start-session.ts'
import { issueInvoice } from '../payment/apply/issue-invoice.ts'
import { listDue } from '../payment/due/list-due.ts'
import type { PaymentDeps } from '../payment/payment-deps.ts'
import { listOwn } from '../payment/rows/list-own.ts'
import type { OrderRow } from '../payment/rows/order-queries.ts'
import { createTeam } from '../team/create-team.ts'
import { deleteTeam } from '../team/delete-team.ts'
import { refuseTooMany } from '../team/invite/invite-limits.ts'
import { moveSessions } from '../team/remove-member.ts'
import { setMemberLimits } from '../team/update-team.ts'
import { defaultPlans } from '../workspace/plan.ts'
import type { Sending } from './snapshots.fixtures.ts'

const plans = defaultPlans
const workspaceId = 'workspace'
const person = { userId: 'person' }
const owner = { ...person, teamId: 'team' }
const position = { createdAtMicros: '1', id: 'task' }

export const peopleStatements: Readonly<Record<string, Sending>> = {
  'audit/list-changes': {
    send: async (db) => {
      const filter = { workspaceId, from: new Date(0), before: new Date(1) }
      await listChanges(db, filter, { limit: 20, offset: 40 })
      await listChanges(db, filter, { limit: 20, offset: 0, after: position })
      await countChanges(db, filter)
    },
  },
  'identity/clean-sign-in': { send: (db) => cleanSignIn(db) },
  'identity/delay-verifications': { send: (db) => delayVerifications(db) },
  'identity/list-due-requests': { send: (db) => listDueRequests(db, 100) },
  'identity/erase-account': {
    send: (db) => {
      const deps = { db, masterKeys: new Map(), findSubscription: async () => undefined }
      return eraseAccount(deps, { userId: 'user', code: undefined })
    },
    answers: [[{ id: workspaceId }], [{ email: 'email' }], [], [], [{ id: workspaceId, role: 'owner', others: 0 }]],
  },
  'identity/list-login-events': {
    send: async (db) => {
      await listLoginEvents(db, 'user', { limit: 20, offset: 40 })
      await listLoginEvents(db, 'user', { limit: 20, offset: 0, after: position })
      await countLoginEvents(db, 'user')
    },
  },
  'identity/list-sessions': {
    send: async (db) => {
      await listSessions(db, 'user', { limit: 20, offset: 40 })
      await listSessions(db, 'user', { limit: 20, offset: 0, after: position })
      await countSessions(db, 'user')
    },
  },
  'identity/start-session': {
    send: (db) =>
      startSession(db, { userId: 'user', method: 'password', client: { ipAddress: null, userAgent: null } }),
  },
  'identity/admit': {
    send: (db) =>
      admit(db, {
        found: { id: 'user', email: 'a@example.com', password_hash: 'hash' },
        account: Buffer.alloc(32),
        network: '192.0.2.1',
        client: { ipAddress: null, userAgent: null },
      }),
  },
  'identity/take-attempt': {
    send: (db) => takeAttempt(db, { account: Buffer.alloc(32), network: '192.0.2.1' }),
  },
  'identity/find-live-sessions': {
    send: (db) => findLiveSessions(db, [{ sessionId: 'session', workspaceId }]),
  },
  'payment/issue-invoice': {
    send: (db) => {
      const seller = { name: 'Seller', addressLines: [], taxId: null }
      const applying = { tx: db, provider: 'sandbox', plans, seller, workspaceId, now: new Date(0) }
      const order = { id: 'order', workspace_id: workspaceId, amount: 1, tax: 0, currency: 'USD' } as OrderRow
      return issueInvoice(applying, order, new Date(0))
    },
    answers: [[{ name: 'Buyer' }], [{ last: 1 }]],
  },
  'payment/list-due': {
    send: (db) => listDue({ db, now: () => new Date(0) } as PaymentDeps, 'payment_order', {}),
  },
  'payment/list-own': {
    send: async (db) => {
      await listOwn(db, 'payment_order', { workspaceId, limit: 20, offset: 40 })
      await listOwn(db, 'payment_order', { workspaceId, limit: 20, offset: 0, after: position })
    },
  },
  'team/create-team': {
    send: (db) => createTeam(db, { doer: { ...person, ipAddress: null, requestId: 'id' }, name: 'Team' }),
    answers: [[], [{ owned: 0 }], [{ made: 0 }], [{ id: 'team' }]],
  },
  'team/delete-team': {
    send: (db) => deleteTeam(db, { owner, confirmCreditLoss: true }),
    answers: [[{ id: 'team' }], [{ role: 'owner' }], [{ openTasks: 0 }], [{ total: 1 }]],
  },
  'team/invite-limits': {
    send: (db) => refuseTooMany(db, owner, 'a@example.com'),
    answers: [[], [], [], [{}]],
  },
  'team/move-sessions': { send: (db) => moveSessions(db, 'team', null) },
  'team/set-member-limits': {
    send: (db) => setMemberLimits(db, owner, []),
    answers: [[{ id: 'team' }], [{ role: 'owner' }]],
  },
}
