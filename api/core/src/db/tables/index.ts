import type {
  AccountRequestTable,
  AppUserTable,
  AuditEntryTable,
  EmailChangeTable,
  LoginEventTable,
  LoginFailureTable,
  MailTokenTable,
  MembershipTable,
  MfaTokenTable,
  RecoveryCodeTable,
  RefreshTokenTable,
  RegistrationInviteTable,
  SessionTable,
  SigningKeyTable,
  TwoFactorTable,
} from './account.ts'
import type {
  CreditAdjustmentTable,
  CreditEntryTable,
  CreditExpiryWarningTable,
  CreditHoldTable,
  CreditLotTable,
  CreditLowBalanceTable,
  FreeCreditTable,
  MailboxKeyTable,
} from './credit.ts'
import type {
  MailRoomTable,
  MailTable,
  NotificationDueTable,
  NotificationPreferenceTable,
  NotificationTable,
} from './mail.ts'
import type { InferenceWindowTable, ModelTable } from './model.ts'
import type {
  OperatorCredentialTable,
  PoolReportTable,
  PoolSampleTable,
  RolloutStepTable,
  ScalingDecisionTable,
} from './operator.ts'
import type {
  InvoiceCounterTable,
  InvoiceTable,
  PaymentDisputeTable,
  PaymentOrderTable,
  ProviderEventTable,
  RefundTable,
  SandboxEventTable,
  SandboxObjectTable,
  SubscriptionPeriodTable,
  SubscriptionTable,
} from './payment.ts'
import type { ObjectDeletionTable, RetentionNoticeTable, SettingTable } from './setting.ts'
import type {
  BatchTable,
  TaskEventTable,
  TaskTable,
  UploadFetchTable,
  UploadTable,
  UsageDayTable,
  UsageDetailTable,
} from './task.ts'
import type { MemberCreditMonthTable, ReferralCodeTable, ReferralTable, TeamInviteTable } from './team.ts'
import type {
  DeliveryAttemptTable,
  DeliveryTable,
  StreamedEventTable,
  WebhookEndpointHourTable,
  WebhookEndpointTable,
  WebhookStreamTable,
} from './webhook.ts'
import type {
  ApiKeyTable,
  IdempotencyRecordTable,
  PersonalIdempotencyRecordTable,
  RateWindowTable,
  WorkspaceTable,
} from './workspace.ts'

/** Every table by name; related tables share a file. */
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
  operator_credential: OperatorCredentialTable
  payment_dispute: PaymentDisputeTable
  payment_order: PaymentOrderTable
  pool_report: PoolReportTable
  pool_sample: PoolSampleTable
  provider_event: ProviderEventTable
  rate_window: RateWindowTable
  recovery_code: RecoveryCodeTable
  refresh_token: RefreshTokenTable
  referral: ReferralTable
  referral_code: ReferralCodeTable
  refund: RefundTable
  registration_invite: RegistrationInviteTable
  retention_notice: RetentionNoticeTable
  rollout_step: RolloutStepTable
  sandbox_event: SandboxEventTable
  sandbox_object: SandboxObjectTable
  scaling_decision: ScalingDecisionTable
  session: SessionTable
  setting: SettingTable
  signing_key: SigningKeyTable
  streamed_event: StreamedEventTable
  subscription: SubscriptionTable
  subscription_period: SubscriptionPeriodTable
  task: TaskTable
  task_event: TaskEventTable
  team_invite: TeamInviteTable
  two_factor: TwoFactorTable
  upload: UploadTable
  upload_fetch: UploadFetchTable
  usage_day: UsageDayTable
  usage_detail: UsageDetailTable
  webhook_endpoint: WebhookEndpointTable
  webhook_endpoint_hour: WebhookEndpointHourTable
  webhook_stream: WebhookStreamTable
  workspace: WorkspaceTable
}
