// Location of personal data, and its treatment by export and erasure. A test compares this table with the schema: each
// column that refers to a user or a workspace, or holds an address, has an entry (test/app/users-export.test.ts).

export type Section = {
  readonly name: string
  readonly columns: readonly string[]
  /** Columns that are unique among the rows of one owner. */
  readonly order: readonly string[]
  /** Creator column of a workspace's rows; the export then includes rows that the user created in other workspaces. */
  readonly maker?: string
}

type PersonalColumn = {
  /** Kind of owner in the column: a user, the key of an e-mail address or a workspace. An index starts with it. */
  readonly of: 'person' | 'address' | 'workspace'
  readonly shown: Section | string
  /**
   * Treatment at erasure: rows deleted, columns emptied, or kept with a reason. Applies to the personal workspace only.
   */
  readonly erased: 'rows' | { readonly columns: readonly string[] } | { readonly kept: string }
}

const section = (name: string, columns: string, order = 'id', maker?: string): Section => ({
  name,
  columns: columns.split(' '),
  order: order.split(' '),
  ...(maker !== undefined && { maker }),
})

type Entry = (shown: PersonalColumn['shown'], erased: PersonalColumn['erased']) => PersonalColumn
const person: Entry = (shown, erased) => ({ of: 'person', shown, erased })
const address: Entry = (shown, erased) => ({ of: 'address', shown, erased })
const workspace: Entry = (shown, erased) => ({ of: 'workspace', shown, erased })

const token = 'hash of a token'
const elsewhere = 'shown with another column of the table'
const work = { kept: 'belongs to a workspace; the creator’s row is anonymous' }
const books = { kept: 'accounting records are kept without a name' }
const closed = { kept: 'close-workspace.ts removes personal data; other rows refer to this one' }
const swept = { kept: 'the sweep deletes it after its tasks end' }
const counted = { kept: 'a number' }

const sessionColumns =
  'id workspace_id ip_address user_agent created_at last_used_at expires_at ended_at proved_at proof_method'
const keyColumns =
  'id workspace_id name prefix last_four scopes created_at expires_at last_used_at revoked_at allowed_networks ' +
  'recent_addresses'
const auditColumns = 'id at workspace_id action target ip_address user_agent request_id client_request_id'
const taskColumns =
  'id workspace_id batch_id status model_version source_key callback_url output failure_reason width height ' +
  'result_format created_at completed_at'
const batchColumns =
  'id workspace_id status total_count succeeded_count failed_count canceled_count callback_url created_at'
const orderColumns =
  'id workspace_id kind status description amount tax currency refunded_amount credits created_at paid_at'
const lotColumns = 'id workspace_id kind granted available held spent expired refunded created_at expires_at'

/** By table and column, in the order of export and erasure: referring tables first. */
export const personalData: Readonly<Record<string, PersonalColumn>> = {
  'membership.user_id': person(section('memberships', 'workspace_id role created_at', 'workspace_id'), 'rows'),
  'session.user_id': person(section('sessions', sessionColumns, 'created_at id'), 'rows'),
  'login_event.user_id': person(
    section('loginHistory', 'id at success method ip_address user_agent failure_reason', 'at id'),
    'rows',
  ),
  'audit_entry.user_id': person(section('changes', auditColumns, 'at id'), {
    columns: ['ip_address', 'user_agent'],
  }),
  'email_change.user_id': person(section('emailChanges', 'new_email created_at expires_at', 'created_at'), 'rows'),
  'personal_idempotency_record.user_id': person('deleted after a day', 'rows'),
  'mfa_token.user_id': person(token, 'rows'),
  'mail_token.user_id': person(token, 'rows'),
  'recovery_code.user_id': person(token, 'rows'),
  'two_factor.user_id': person(section('twoFactor', 'created_at enabled_at', 'user_id'), 'rows'),
  'mail.user_id': person(section('mails', 'id template status to_address created_at completed_at'), 'rows'),
  'mail.to_key': address(elsewhere, 'rows'),
  'notification.user_id': person(
    section('notifications', 'id workspace_id type title body data read_at created_at', 'created_at id'),
    'rows',
  ),
  'notification_preference.user_id': person(section('notificationPreferences', 'event in_app email', 'event'), 'rows'),
  'referral.referrer_id': person(
    section('referrals', 'id email status credits invited_at joined_at decided_at', 'created_at id'),
    'rows',
  ),
  'referral.invited_id': person('part of the referrer’s data', work),
  'referral.email_key': address('an invitation written by another user', 'rows'),
  'referral_code.user_id': person(section('referralCode', 'code created_at', 'user_id'), 'rows'),
  'task_event.for_user': person('becomes a notification', { columns: ['for_user'] }),
  'notification_due.user_id': person('becomes a notification', 'rows'),
  'mail_room.address': address('hash of an address, deleted after a day', { kept: 'a hash, deleted after a day' }),
  'free_credit.user_id': person('HMAC of the address', {
    kept: 'free-credits.ts removes the user; the HMAC of the address stays for 12 months (D88)',
  }),
  'account_request.email_key': address('handled within seconds', 'rows'),
  'registration_invite.email': address('written by an operator', 'rows'),
  'member_credit_month.user_id': person(elsewhere, counted),
  'usage_detail.user_id': person(
    section(
      'usageByModel',
      'workspace_id day model_version created succeeded failed canceled credits',
      'day workspace_id model_version',
    ),
    counted,
  ),
  'team_invite.email_key': address(
    section('invitations', 'workspace_id role created_at expires_at ended_at ending', 'created_at id'),
    'rows',
  ),
  'team_invite.invited_by': person(elsewhere, work),
  'workspace.created_by': person(elsewhere, work),
  'workspace.personal_of': person(elsewhere, closed),
  'api_key.created_by': person(elsewhere, { columns: ['recent_addresses', 'addresses_since'] }),
  'webhook_endpoint.created_by': person(elsewhere, work),
  'task.created_by': person(elsewhere, work),
  'upload.created_by': person(elsewhere, work),
  'batch.created_by': person(elsewhere, work),
  'payment_order.created_by': person(elsewhere, books),
  'refund.created_by': person(elsewhere, books),
  'api_key.workspace_id': workspace(section('apiKeys', keyColumns, 'created_at id', 'created_by'), closed),
  'task.workspace_id': workspace(section('tasks', taskColumns, 'created_at id', 'created_by'), swept),
  'batch.workspace_id': workspace(section('batches', batchColumns, 'created_at id', 'created_by'), swept),
  'upload.workspace_id': workspace('source images of tasks', swept),
  'delivery.workspace_id': workspace('copies of events', swept),
  'streamed_event.workspace_id': workspace('copies of events, deleted after an hour', closed),
  'upload_fetch.workspace_id': workspace(
    'addresses of images, removed after seconds; rows deleted after an hour',
    closed,
  ),
  'webhook_stream.workspace_id': workspace('position of a stream of events', closed),
  'webhook_endpoint.workspace_id': workspace(
    section(
      'webhooks',
      'id target_url event_types status description created_at deleted_at',
      'created_at id',
      'created_by',
    ),
    closed,
  ),
  'payment_order.workspace_id': workspace(section('orders', orderColumns, 'created_at id'), books),
  'payment_dispute.workspace_id': workspace(
    section('disputes', 'id order_id status reason amount currency created_at closed_at', 'created_at id'),
    books,
  ),
  'refund.workspace_id': workspace(
    section('refunds', 'id order_id status amount currency credits reason created_at', 'created_at id'),
    books,
  ),
  'invoice.workspace_id': workspace(
    section('invoices', 'id number buyer lines subtotal tax total currency issued_at', 'created_at id'),
    { kept: 'erase-account.ts removes the buyer' },
  ),
  'provider_event.workspace_id': workspace('its content is in orders, subscriptions and invoices', {
    kept: 'erase-account.ts empties the bodies',
  }),
  'subscription.workspace_id': workspace(
    section('subscriptions', 'id plan status period_start period_end created_at ended_at', 'created_at id'),
    books,
  ),
  'credit_lot.workspace_id': workspace(section('creditLots', lotColumns, 'created_at id'), books),
  'credit_adjustment.workspace_id': workspace(section('creditAdjustments', 'id amount reason at', 'at id'), books),
  'credit_low_balance.workspace_id': workspace('handled within seconds', counted),
  'credit_entry.workspace_id': workspace('summed up in its lots', books),
  'usage_day.workspace_id': workspace(
    section('usage', 'day created succeeded failed canceled credits api_requests', 'day'),
    counted,
  ),
  'usage_detail.workspace_id': workspace(elsewhere, counted),
  'retention_notice.workspace_id': workspace('a number', counted),
  'idempotency_record.workspace_id': workspace('deleted after a day', { kept: 'for a day' }),
}
