// Statements about credits and referrals, for snapshots.test.ts.
import { adjustCredits } from '../credit/adjust-credits.ts'
import { writeAlertSettings } from '../credit/alert-settings.ts'
import { readBalance } from '../credit/balance.ts'
import { announceLowBalances } from '../credit/due/announce-low-balance.ts'
import { grantDuePlans } from '../credit/due/grant-plans.ts'
import { warnOfExpiry } from '../credit/due/warn-of-expiry.ts'
import { expireCredits } from '../credit/expire-credits.ts'
import { forfeitCredits } from '../credit/forfeit-credits.ts'
import { holdCredits } from '../credit/hold.ts'
import { holdCreditsEach } from '../credit/hold-batch.ts'
import { listEndingLots } from '../credit/list/ending-lots.ts'
import { countEntries, listEntries } from '../credit/list/ledger-queries.ts'
import { countLots, listLots } from '../credit/list/list-lots.ts'
import { grantCredits } from '../credit/lot-queries.ts'
import { listMemberUse, readMonth } from '../credit/member/list-member-use.ts'
import { refundCredits } from '../credit/refund-credits.ts'
import { returnRefunded } from '../credit/return-refunded.ts'
import { joinReferred } from '../referral/due/join-referred.ts'
import { rewardReferrals } from '../referral/due/reward-referrals.ts'
import { inviteByMail } from '../referral/invite.ts'
import { countOutcomes, countReferrals, listReferrals } from '../referral/referral-queries.ts'
import { decideReview } from '../referral/review.ts'
import { parseMasterKeys } from '../runtime/seal.ts'
import { defaultPlans } from '../workspace/plan.ts'
import type { Sending } from './snapshots.fixtures.ts'

const plans = defaultPlans
const workspaceId = 'workspace'
const position = { createdAtMicros: '1', id: 'task' }
const lockedWorkspace = [{ id: workspaceId, plan: 'pro' }]
const month = { start: new Date(0), end: new Date(1), subscribed: false }
const masterKeys = parseMasterKeys(`a:${Buffer.alloc(32).toString('base64')}`)
const invitation = { userId: 'user', email: 'bob@example.com', linkOf: (code: string) => code, once: undefined }

export const creditStatements: Readonly<Record<string, Sending>> = {
  'credit/adjust-credits': {
    send: (db) => adjustCredits(db, { workspaceId, amount: -1, reason: 'reason', reference: 'reference' }),
    answers: [lockedWorkspace, [{ id: 'adjustment' }]],
  },
  'credit/announce-low-balances': {
    send: (db) => announceLowBalances(db),
    answers: [[{ id: workspaceId }], lockedWorkspace, [{ workspace_id: workspaceId }], [{ available: 9 }]],
  },
  'credit/expire-credits': { send: (db) => expireCredits(db), answers: [[{ id: workspaceId }]] },
  'credit/forfeit-credits': { send: (db) => forfeitCredits(db, workspaceId) },
  'credit/list-member-use': {
    send: async (db) => {
      await listMemberUse(db, workspaceId)
      await readMonth(db)
    },
    answers: [[], [{}]],
  },
  'credit/grant-credits': {
    send: (db) => grantCredits(db, { workspaceId, kind: 'grant', amount: 1, source: 'source' }),
  },
  'credit/grant-due-plans': {
    send: (db) => grantDuePlans(db, plans),
    answers: [[{ id: workspaceId }], lockedWorkspace, [month]],
  },
  'credit/hold-credits': {
    send: (db) => holdCredits(db, { workspaceId, userId: null, taskId: 'task', run: 1, amount: 1 }),
  },
  'credit/hold-credits-each': {
    send: (db) => holdCreditsEach(db, { workspaceId, userId: null, runs: [{ taskId: 'task', run: 1 }], amount: 1 }),
  },
  'credit/list-ending-lots': { send: (db) => listEndingLots(db, workspaceId) },
  'credit/list-entries': {
    send: async (db) => {
      const filter = { workspaceId, from: new Date(0), before: new Date(1) } as const
      await listEntries(db, { ...filter, type: 'refund' }, { limit: 20, offset: 40 })
      await listEntries(db, filter, { limit: 20, offset: 0, after: position })
      await countEntries(db, { ...filter, type: 'release' })
    },
  },
  'credit/list-lots': {
    send: async (db) => {
      await listLots(db, workspaceId, { limit: 20, offset: 40 })
      await listLots(db, workspaceId, { limit: 20, offset: 0, after: position })
      await countLots(db, workspaceId)
    },
  },
  'credit/read-balance': { send: (db) => readBalance(db, workspaceId) },
  'credit/return-refunded': {
    send: (db) => returnRefunded(db, { workspaceId, lotId: 'lot', amount: 1, reference: 'reference' }),
  },
  'credit/refund-credits': {
    send: (db) => refundCredits(db, { workspaceId, lotId: 'lot', amount: 1, reference: 'reference' }),
  },
  'credit/warn-of-expiry': {
    send: (db) => warnOfExpiry(db),
    answers: [[{ id: 'lot', workspaceId }], lockedWorkspace],
  },
  'credit/write-alert-settings': {
    send: (db) => writeAlertSettings(db, workspaceId, { lowBalanceThreshold: 5, expiryDaysBefore: 14 }),
    answers: [lockedWorkspace, [{ lowBalanceThreshold: 10, expiryDaysBefore: 7 }]],
  },
  'referral/count-outcomes': { send: (db) => countOutcomes(db, 'user') },
  'referral/decide-review': {
    send: (db) => decideReview(db, 'referral', 'approve'),
    answers: [[{ userId: 'user', workspaceId }], lockedWorkspace],
  },
  'referral/invite-by-mail': {
    send: (db) => inviteByMail(db, masterKeys, invitation),
    answers: [[{ name: 'Ann', email: 'ann@example.com' }], [], [], [{ count: 0 }], [{ id: 'referral' }]],
  },
  'referral/join-referred': {
    send: (db) => joinReferred(db),
    answers: [[{ id: 'user' }], [{ email: 'bob@example.com', referral_code: 'CODE' }], [{ id: 'ann' }]],
  },
  'referral/list-referrals': {
    send: async (db) => {
      await listReferrals(db, 'user', { limit: 20, offset: 40 })
      await listReferrals(db, 'user', { limit: 20, offset: 0, after: position })
      await countReferrals(db, 'user')
    },
  },
  'referral/reward-referrals': {
    send: (db) => rewardReferrals(db, { credits: 50, autoApprove: false }),
    answers: [
      [{ id: 'referral' }],
      [{ referrerId: 'user', workspaceId, suspicion: null, samePayer: false, hasBought: true }],
      lockedWorkspace,
    ],
  },
}
