import type { ApiKeyTable } from './api-key.ts'
import type { AppUserTable, MembershipTable, SessionTable } from './app-user.ts'
import type { AuditEntryTable } from './audit-entry.ts'
import type { BatchTable } from './batch.ts'
import type { CreditEntryTable, CreditHoldTable, CreditLotTable } from './credit.ts'
import type { CreditAdjustmentTable, CreditExpiryWarningTable, CreditLowBalanceTable } from './credit-event.ts'
import type { DeliveryAttemptTable, DeliveryTable } from './delivery.ts'
import type { FreeCreditTable, MailboxKeyTable } from './free-credit.ts'
import type { IdempotencyRecordTable, PersonalIdempotencyRecordTable } from './idempotency-record.ts'
import type { InferenceWindowTable } from './inference-window.ts'
import type { MailRoomTable, MailTable, NotificationDueTable } from './mail.ts'
import type { ModelTable } from './model.ts'
import type { NotificationPreferenceTable, NotificationTable } from './notification.ts'
import type {
  InvoiceCounterTable,
  InvoiceTable,
  PaymentOrderTable,
  RefundTable,
  SubscriptionPeriodTable,
  SubscriptionTable,
} from './payment.ts'
import type { ProviderEventTable, SandboxEventTable, SandboxObjectTable } from './provider-event.ts'
import type { RateWindowTable } from './rate-window.ts'
import type { ReferralCodeTable, ReferralTable } from './referral.ts'
import type { ObjectDeletionTable, RetentionNoticeTable } from './retention.ts'
import type { SettingTable } from './setting.ts'
import type {
  AccountRequestTable,
  LoginEventTable,
  LoginFailureTable,
  MailTokenTable,
  RefreshTokenTable,
  RegistrationInviteTable,
} from './sign-in.ts'
import type { SigningKeyTable } from './signing-key.ts'
import type { TaskEventTable, TaskTable } from './task.ts'
import type { MemberCreditMonthTable, TeamInviteTable } from './team.ts'
import type { EmailChangeTable, MfaTokenTable, RecoveryCodeTable, TwoFactorTable } from './two-factor.ts'
import type { UploadTable } from './upload.ts'
import type { UsageDayTable } from './usage-day.ts'
import type { WebhookEndpointTable } from './webhook-endpoint.ts'
import type { WorkspaceTable } from './workspace.ts'

/** Every table by its name; a table's type lies in the file that carries the table's name. */
export type Tables = {
  account_request: AccountRequestTable
  api_key: ApiKeyTable
  app_user: AppUserTable
  audit_entry: AuditEntryTable
  batch: BatchTable
  credit_adjustment: CreditAdjustmentTable
  credit_entry: CreditEntryTable
  credit_expiry_warning: CreditExpiryWarningTable
  credit_hold: CreditHoldTable
  credit_lot: CreditLotTable
  credit_low_balance: CreditLowBalanceTable
  delivery: DeliveryTable
  delivery_attempt: DeliveryAttemptTable
  email_change: EmailChangeTable
  idempotency_record: IdempotencyRecordTable
  personal_idempotency_record: PersonalIdempotencyRecordTable
  inference_window: InferenceWindowTable
  invoice: InvoiceTable
  invoice_counter: InvoiceCounterTable
  login_event: LoginEventTable
  login_failure: LoginFailureTable
  mail: MailTable
  mail_room: MailRoomTable
  mailbox_key: MailboxKeyTable
  free_credit: FreeCreditTable
  mail_token: MailTokenTable
  member_credit_month: MemberCreditMonthTable
  membership: MembershipTable
  mfa_token: MfaTokenTable
  model: ModelTable
  notification: NotificationTable
  notification_due: NotificationDueTable
  notification_preference: NotificationPreferenceTable
  object_deletion: ObjectDeletionTable
  payment_order: PaymentOrderTable
  provider_event: ProviderEventTable
  rate_window: RateWindowTable
  recovery_code: RecoveryCodeTable
  refresh_token: RefreshTokenTable
  referral: ReferralTable
  referral_code: ReferralCodeTable
  refund: RefundTable
  registration_invite: RegistrationInviteTable
  retention_notice: RetentionNoticeTable
  sandbox_event: SandboxEventTable
  sandbox_object: SandboxObjectTable
  session: SessionTable
  setting: SettingTable
  signing_key: SigningKeyTable
  subscription: SubscriptionTable
  subscription_period: SubscriptionPeriodTable
  task: TaskTable
  task_event: TaskEventTable
  team_invite: TeamInviteTable
  two_factor: TwoFactorTable
  upload: UploadTable
  usage_day: UsageDayTable
  webhook_endpoint: WebhookEndpointTable
  workspace: WorkspaceTable
}
