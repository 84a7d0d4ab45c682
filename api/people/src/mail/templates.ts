/** Mail templates and their data. The dispatcher holds the texts. */
type Templates = {
  /** Sent to a registered address. */
  'verify-email': { readonly url: string }
  /** An address that has an account was registered again. */
  'already-registered': { readonly loginUrl: string; readonly resetUrl: string }
  'reset-password': { readonly url: string }
  /** To the new address. */
  'confirm-email': { readonly url: string }
  /** To the old address. */
  'email-changing': { readonly newEmail: string }
  'failed-logins': { readonly failures: number }
  /** Warns the owner about wrong codes of the second factor in a day. */
  'wrong-codes': { readonly codes: number }
  'team-invitation': {
    readonly teamName: string
    readonly inviterEmail: string
    readonly role: string
    readonly url: string
  } & Invitation
  /** An invitation by a referral code. */
  'referral-invitation': {
    /** Empty if the inviter has no name. */
    readonly inviterName: string
    /** Absent in mails of an older release. */
    readonly inviterEmail?: string
    readonly url: string
  } & Invitation
  /** No delivery to a webhook endpoint succeeded for days; it is disabled after `disabledAfterDays`. */
  'endpoint-failing': FailingEndpoint & { readonly disabledAfterDays: number }
  'endpoint-disabled': FailingEndpoint
  /** Tells owners about the webhook endpoints of a former owner or admin. */
  'member-endpoints': {
    readonly teamName: string
    readonly memberEmail: string
    readonly change: 'demoted' | 'removed' | 'left'
    readonly endpoints: readonly { readonly id: string; readonly targetHost: string }[]
  }
  /** API keys that expire within a week, to their creator and the owners. */
  'keys-expiring': {
    /** Null: the personal workspace. */
    readonly workspaceName: string | null
    /** `expiresAt`: ISO 8601. The next to expire first. */
    readonly keys: readonly { readonly name: string; readonly lastFour: string; readonly expiresAt: string }[]
  }
  /** An event of the interface. */
  notification: { readonly event: string; readonly title: string; readonly body: string }
}

type Invitation = {
  /** Language of the mail if it belongs to no account. Absent in mails of an older release. */
  readonly inviterLocale?: string
}

type FailingEndpoint = {
  /** `host:port` only: the path may be secret. */
  readonly targetHost: string
  readonly endpointId: string
  readonly workspaceName: string
  /** ISO 8601. */
  readonly failingSince: string
}

export type MailTemplate = keyof Templates

export type DataOf<T extends MailTemplate> = Templates[T]

export type MailData = {
  readonly [T in MailTemplate]: { readonly template: T; readonly data: Templates[T] }
}[MailTemplate]
