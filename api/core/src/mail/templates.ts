/** Every mail by its template, and what fills it. The texts are in the dispatcher. */
type Templates = {
  /** The address was registered: the link proves that it can be read. */
  'verify-email': { readonly url: string }
  /** Somebody registered an address that has an account. */
  'already-registered': { readonly loginUrl: string; readonly resetUrl: string }
  'reset-password': { readonly url: string }
  /** To the new address. */
  'confirm-email': { readonly url: string }
  /** To the old address. */
  'email-changing': { readonly newEmail: string }
  /** So many failed logins that the owner should know. */
  'failed-logins': { readonly failures: number }
  /** So many wrong codes of the second factor in a day that the owner should know. */
  'wrong-codes': { readonly codes: number }
  /** An invitation to a team, to someone with or without an account. */
  'team-invitation': {
    readonly teamName: string
    readonly inviterEmail: string
    readonly role: string
    readonly url: string
  }
  /** An invitation by a referral code. */
  'referral-invitation': {
    /** Empty: the inviter has none. */
    readonly inviterName: string
    /** Absent in mails that an older version queued; its name was then the address if there was no other. */
    readonly inviterEmail?: string
    readonly url: string
  }
  /** No delivery to a webhook endpoint has succeeded for days; it is disabled after `disabledAfterDays`. */
  'endpoint-failing': FailingEndpoint & { readonly disabledAfterDays: number }
  'endpoint-disabled': FailingEndpoint
  /** To owners: the webhook endpoints of a former owner or admin. */
  'member-endpoints': {
    readonly teamName: string
    readonly memberEmail: string
    readonly change: 'demoted' | 'removed' | 'left'
    readonly endpoints: readonly { readonly id: string; readonly targetHost: string }[]
  }
  /** An event of the interface, as a notification. */
  notification: { readonly event: string; readonly title: string; readonly body: string }
}

type FailingEndpoint = {
  /** `host:port`: the rest of a URL may be secret. */
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
