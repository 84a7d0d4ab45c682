// Where data of people lies, and what export and erasure do with it. A test compares this with the schema: what refers
// to people, to their workspaces, or holds an address has a line here (test/app/users-export.test.ts).

export type Section = {
  readonly name: string
  readonly columns: readonly string[]
  /** Unique among the rows of one owner. */
  readonly order: readonly string[]
  /** Of workspaces: who made the row. Then rows that the person made in other workspaces are shown too. */
  readonly maker?: string
}

type PersonalColumn = {
  /** Owner of the rows it finds: a person, an e-mail address (the column has its key, D85) or a workspace. */
  readonly of: 'person' | 'address' | 'workspace'
  /** A section of the export, or why there is none. An index begins with the column. */
  readonly shown: Section | string
  /** At erasure: the rows go, these columns are emptied, or why they stay. Of workspaces: the personal one alone. */
  readonly erased: 'rows' | { readonly columns: readonly string[] } | { readonly kept: string }
}

const section = (name: string, columns: string, order = 'id'): Section => ({
  name,
  columns: columns.split(' '),
  order: order.split(' '),
})

const token = 'the hash of a token'
const elsewhere = 'shown with another column of the table'
const work = { kept: 'a workspace’s, made by someone whose row says nothing any more' }
const books = { kept: 'the books are kept, without a name' }
const closed = { kept: 'close-workspace.ts takes what names people; the row stays for what refers to it' }
const swept = { kept: 'deleted by the sweep after the end of the tasks' }
const counted = { kept: 'a number' }

const sessionColumns = 'id workspace_id ip_address user_agent created_at last_used_at expires_at ended_at'
const keyColumns = 'id workspace_id name prefix last_four scopes created_at expires_at last_used_at revoked_at'
const taskColumns =
  'id workspace_id batch_id status model_version source_key callback_url output failure_reason width height ' +
  'result_format created_at completed_at'
const batchColumns =
  'id workspace_id status total_count succeeded_count failed_count canceled_count callback_url created_at'
const orderColumns =
  'id workspace_id kind status description amount tax currency refunded_amount credits created_at paid_at'
const lotColumns = 'id workspace_id kind granted available held spent expired refunded created_at expires_at'

/** By table and column, in the order of export and erasure: what refers to another comes first. */
export const personalData: Readonly<Record<string, PersonalColumn>> = {
  'membership.user_id': {
    of: 'person',
    shown: section('memberships', 'workspace_id role created_at', 'workspace_id'),
    erased: 'rows',
  },
  'session.user_id': { of: 'person', shown: section('sessions', sessionColumns, 'created_at id'), erased: 'rows' },
  'login_event.user_id': {
    of: 'person',
    shown: section('loginHistory', 'id at success method ip_address user_agent failure_reason', 'at id'),
    erased: 'rows',
  },
  'audit_entry.user_id': {
    of: 'person',
    shown: section('changes', 'id at workspace_id action target ip_address request_id', 'at id'),
    erased: { columns: ['ip_address'] },
  },
  'email_change.user_id': {
    of: 'person',
    shown: section('emailChanges', 'new_email created_at expires_at', 'created_at'),
    erased: 'rows',
  },
  'personal_idempotency_record.user_id': { of: 'person', shown: 'gone after a day', erased: 'rows' },
  'mfa_token.user_id': { of: 'person', shown: token, erased: 'rows' },
  'mail_token.user_id': { of: 'person', shown: token, erased: 'rows' },
  'recovery_code.user_id': { of: 'person', shown: token, erased: 'rows' },
  'two_factor.user_id': {
    of: 'person',
    shown: section('twoFactor', 'created_at enabled_at', 'user_id'),
    erased: 'rows',
  },
  'mail.user_id': {
    of: 'person',
    shown: section('mails', 'id template status to_address created_at completed_at'),
    erased: 'rows',
  },
  'mail.to_key': { of: 'address', shown: elsewhere, erased: 'rows' },
  'notification.user_id': {
    of: 'person',
    shown: section('notifications', 'id workspace_id type title body data read_at created_at', 'created_at id'),
    erased: 'rows',
  },
  'notification_preference.user_id': {
    of: 'person',
    shown: section('notificationPreferences', 'event in_app email', 'event'),
    erased: 'rows',
  },
  'referral.referrer_id': {
    of: 'person',
    shown: section('referrals', 'id email status credits invited_at joined_at decided_at', 'created_at id'),
    erased: 'rows',
  },
  'referral.invited_id': { of: 'person', shown: 'whoever invited is told of it', erased: work },
  'referral.email_key': { of: 'address', shown: 'an invitation that somebody else wrote', erased: 'rows' },
  'referral_code.user_id': {
    of: 'person',
    shown: section('referralCode', 'code created_at', 'user_id'),
    erased: 'rows',
  },
  'task_event.for_user': { of: 'person', shown: 'a notification in a moment', erased: { columns: ['for_user'] } },
  'notification_due.user_id': { of: 'person', shown: 'a notification in a moment', erased: 'rows' },
  'mail_room.address': {
    of: 'address',
    shown: 'the hash of an address, for a day',
    erased: { kept: 'a hash, which goes within a day' },
  },
  'free_credit.user_id': {
    of: 'person',
    shown: 'an HMAC of the address',
    erased: { kept: 'free-credits.ts takes the person out; the HMAC of the address stays for 12 months (D88)' },
  },
  'account_request.email_key': { of: 'address', shown: 'done in a moment', erased: 'rows' },
  'registration_invite.email': { of: 'address', shown: 'the operator’s list', erased: 'rows' },
  'member_credit_month.user_id': { of: 'person', shown: elsewhere, erased: counted },
  'team_invite.email_key': {
    of: 'address',
    shown: section('invitations', 'workspace_id role created_at expires_at ended_at ending', 'created_at id'),
    erased: 'rows',
  },
  'team_invite.invited_by': { of: 'person', shown: elsewhere, erased: work },
  'workspace.created_by': { of: 'person', shown: elsewhere, erased: work },
  'workspace.personal_of': { of: 'person', shown: elsewhere, erased: closed },
  'api_key.created_by': { of: 'person', shown: elsewhere, erased: work },
  'webhook_endpoint.created_by': { of: 'person', shown: elsewhere, erased: work },
  'task.created_by': { of: 'person', shown: elsewhere, erased: work },
  'batch.created_by': { of: 'person', shown: elsewhere, erased: work },
  'payment_order.created_by': { of: 'person', shown: elsewhere, erased: books },
  'refund.created_by': { of: 'person', shown: elsewhere, erased: books },

  'api_key.workspace_id': {
    of: 'workspace',
    shown: { ...section('apiKeys', keyColumns, 'created_at id'), maker: 'created_by' },
    erased: closed,
  },
  'task.workspace_id': {
    of: 'workspace',
    shown: { ...section('tasks', taskColumns, 'created_at id'), maker: 'created_by' },
    erased: swept,
  },
  'batch.workspace_id': {
    of: 'workspace',
    shown: { ...section('batches', batchColumns, 'created_at id'), maker: 'created_by' },
    erased: swept,
  },
  'upload.workspace_id': { of: 'workspace', shown: 'the sources of the tasks', erased: swept },
  'delivery.workspace_id': { of: 'workspace', shown: 'copies of events', erased: swept },
  'webhook_endpoint.workspace_id': {
    of: 'workspace',
    shown: {
      ...section('webhooks', 'id target_url event_types status description created_at deleted_at', 'created_at id'),
      maker: 'created_by',
    },
    erased: closed,
  },
  'payment_order.workspace_id': {
    of: 'workspace',
    shown: section('orders', orderColumns, 'created_at id'),
    erased: books,
  },
  'refund.workspace_id': {
    of: 'workspace',
    shown: section('refunds', 'id order_id status amount currency credits reason created_at', 'created_at id'),
    erased: books,
  },
  'invoice.workspace_id': {
    of: 'workspace',
    shown: section('invoices', 'id number buyer lines subtotal tax total currency issued_at', 'created_at id'),
    erased: { kept: 'erase-account.ts takes the name' },
  },
  'provider_event.workspace_id': {
    of: 'workspace',
    shown: 'what they changed is in orders, subscriptions and invoices',
    erased: { kept: 'erase-account.ts empties the bodies' },
  },
  'subscription.workspace_id': {
    of: 'workspace',
    shown: section('subscriptions', 'id plan status period_start period_end created_at ended_at', 'created_at id'),
    erased: books,
  },
  'credit_lot.workspace_id': {
    of: 'workspace',
    shown: section('creditLots', lotColumns, 'created_at id'),
    erased: books,
  },
  'credit_adjustment.workspace_id': {
    of: 'workspace',
    shown: section('creditAdjustments', 'id amount reason at', 'at id'),
    erased: books,
  },
  'credit_low_balance.workspace_id': { of: 'workspace', shown: 'gone in a moment', erased: counted },
  'credit_entry.workspace_id': { of: 'workspace', shown: 'summed up in its lots', erased: books },
  'usage_day.workspace_id': {
    of: 'workspace',
    shown: section('usage', 'day created succeeded failed canceled credits api_requests', 'day'),
    erased: counted,
  },
  'retention_notice.workspace_id': { of: 'workspace', shown: 'a number', erased: counted },
  'idempotency_record.workspace_id': { of: 'workspace', shown: 'gone after a day', erased: { kept: 'gone in a day' } },
}
