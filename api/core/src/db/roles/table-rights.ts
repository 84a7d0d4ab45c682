// Rights of each process on each table, granted after migrations. A missing table fails the build; a missing right
// fails with 42501 in the integration tests, which run under these roles. The API also has the rights of matte-admin,
// which runs in its pod. Remove a right one release after its last use, because two releases run side by side.
import type { Tables } from '../tables/index.ts'

export const processRoles = ['api', 'worker', 'operator', 'dispatcher'] as const
export type ProcessRole = (typeof processRoles)[number]

/** The whole table, or columns if others hold secrets or personal data. */
type Extent<T extends keyof Tables> = true | readonly (keyof Tables[T])[]

/** `for update` needs the right to update one column. */
export type Rights<T extends keyof Tables> = {
  readonly select?: Extent<T>
  readonly insert?: true
  readonly update?: Extent<T>
  readonly delete?: true
}

type ByRole<T extends keyof Tables> = { readonly [role in ProcessRole]?: Rights<T> }

const read = { select: true } as const
const append = { select: true, insert: true } as const
const change = { select: true, insert: true, update: true } as const
const remove = { select: true, insert: true, delete: true } as const
/** Rows of the operator's records, which sweeps of the worker and of matte-admin delete. */
const expire = { select: true, update: ['at'], delete: true } as const
const all = { select: true, insert: true, update: true, delete: true } as const

export const tableRights: { readonly [T in keyof Tables]: ByRole<T> } = {
  account_request: { api: all },
  api_key: {
    api: change,
    worker: {
      select: ['id', 'recent_addresses', 'addresses_since'],
      update: ['recent_addresses', 'addresses_since'],
    },
    dispatcher: {
      select: [
        ...(['id', 'workspace_id', 'name', 'last_four', 'created_at', 'created_by'] as const),
        ...(['expires_at', 'revoked_at', 'successor_id', 'expiry_notice_at'] as const),
      ],
      update: ['expiry_notice_at'],
    },
  },
  app_user: {
    api: all,
    dispatcher: {
      select: [
        ...([
          'id',
          'email',
          'email_key',
          'email_verified_at',
          'name',
          'created_at',
          'disabled_at',
          'erased_at',
        ] as const),
        ...(['locale', 'time_zone', 'referral_code', 'registered_from', 'referral_judged_at'] as const),
      ],
      update: ['referral_judged_at'],
    },
  },
  // Append-only: a trigger lets the API only empty these columns of erased persons, and keeps `at` as it is. Only the
  // worker, whose retention it is, deletes entries.
  audit_entry: {
    api: { select: true, insert: true, update: ['ip_address', 'user_agent'] },
    worker: { select: ['id', 'at'], update: ['at'], delete: true },
    dispatcher: { insert: true },
  },
  batch: { api: all, worker: { select: true, update: true, delete: true } },
  credit_adjustment: { api: append },
  credit_entry: { api: append, worker: append, dispatcher: append },
  credit_expiry_warning: { api: read, dispatcher: append },
  credit_hold: { api: all, worker: { select: true, update: true, delete: true } },
  credit_lot: { api: change, worker: { select: true, update: true }, dispatcher: change },
  credit_low_balance: { api: append, worker: append, dispatcher: remove },
  delivery: { api: all, worker: { ...remove, update: ['task_id', 'event_key'] }, dispatcher: all },
  delivery_attempt: { api: { select: true, delete: true }, worker: { select: true, delete: true }, dispatcher: change },
  email_change: { api: remove },
  free_credit: { api: all },
  idempotency_record: { api: all, worker: { select: true, update: ['created_at'], delete: true } },
  inference_window: { api: read, worker: all, operator: read },
  invoice: { api: change, dispatcher: append },
  invoice_counter: { api: change, dispatcher: change },
  login_event: { api: remove },
  login_failure: { api: all },
  mail: {
    api: all,
    worker: { select: ['id', 'completed_at'], update: ['completed_at'], delete: true },
    dispatcher: all,
  },
  mail_room: { api: all },
  mail_token: { api: all },
  mailbox_key: { api: change },
  member_credit_month: { api: change, worker: { select: true, update: true } },
  membership: { api: all, dispatcher: read },
  mfa_token: { api: all },
  model: { api: read, worker: change, operator: read },
  notification: {
    api: { select: true, update: true, delete: true },
    worker: { select: ['id', 'created_at'], update: ['created_at'], delete: true },
    dispatcher: append,
  },
  notification_due: {
    api: remove,
    worker: append,
    dispatcher: all,
  },
  notification_preference: { api: all, dispatcher: read },
  object_deletion: { api: all, worker: all },
  operator_credential: { api: all },
  payment_dispute: { api: change, dispatcher: change },
  payment_order: { api: change, dispatcher: change },
  personal_idempotency_record: { api: all, worker: { select: true, update: ['created_at'], delete: true } },
  pool_report: { api: expire, worker: expire, operator: all },
  pool_sample: { api: expire, worker: expire, operator: append },
  provider_event: { api: change, dispatcher: all },
  rate_window: { api: all },
  recovery_code: { api: remove },
  referral: { api: all, dispatcher: change },
  referral_code: { api: remove, dispatcher: read },
  refresh_token: { api: all },
  refund: { api: change, dispatcher: change },
  registration_invite: { api: remove },
  retention_notice: { api: change, worker: change },
  rollout_step: { api: expire, worker: expire, operator: append },
  sandbox_event: { api: change, dispatcher: change },
  sandbox_object: { api: change, dispatcher: change },
  scaling_decision: { api: expire, worker: expire, operator: append },
  session: {
    api: all,
    dispatcher: { select: ['user_id', 'ip_address', 'created_at', 'last_used_at'] },
  },
  setting: { api: change, worker: read, operator: read, dispatcher: read },
  signing_key: { api: change },
  streamed_event: { api: all, worker: { insert: true }, dispatcher: { insert: true } },
  subscription: { api: change, dispatcher: change },
  subscription_period: { api: change, dispatcher: change },
  task: { api: all, worker: { select: true, update: true, delete: true }, operator: read, dispatcher: read },
  task_event: { api: change, worker: append, dispatcher: { select: true, update: ['for_user'] } },
  team_invite: { api: all },
  two_factor: { api: all },
  upload: { api: all, worker: { select: true, update: true, delete: true } },
  upload_fetch: {
    api: all,
    worker: { select: ['id', 'created_at'], update: ['created_at'], delete: true },
    dispatcher: { select: true, update: true },
  },
  usage_day: { api: change, worker: change, dispatcher: read },
  usage_detail: { api: change, worker: change },
  webhook_endpoint: {
    api: change,
    worker: {
      select: [
        ...(['id', 'workspace_id', 'event_types', 'status', 'target_host', 'target_href'] as const),
        ...(['created_at', 'deleted_at'] as const),
      ],
    },
    dispatcher: { select: true, update: true },
  },
  webhook_stream: {
    api: all,
    worker: { select: ['workspace_id', 'kept_until'] },
    dispatcher: { select: ['workspace_id', 'kept_until'] },
  },
  webhook_endpoint_hour: { api: { select: true, delete: true }, dispatcher: change },
  workspace: {
    api: change,
    worker: {
      select: [
        ...(['id', 'plan', 'deleted_at', 'retention_seconds', 'low_balance_below', 'low_balance_armed'] as const),
        ...(['open_singles', 'open_children', 'queued', 'processing', 'waiting', 'retention_at'] as const),
      ],
      update: ['open_singles', 'open_children', 'queued', 'processing', 'retention_at'],
    },
    operator: { select: ['id', 'plan', 'processing', 'waiting'] },
    dispatcher: { select: true, update: true },
  },
}

export const sequenceRights: Readonly<Record<string, readonly ProcessRole[]>> = {
  provider_reading: ['api', 'dispatcher'],
}
