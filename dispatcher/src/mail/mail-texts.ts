// What each mail says. One description makes its text and its HTML (layout.ts), so that the two cannot differ.
import { type PersonPlace, personFormat } from '@matte/core/mail/person-format'
import { plainName } from '@matte/core/mail/plain-name'
import type { DataOf, MailTemplate } from '@matte/core/mail/templates'

export type MailContent = {
  readonly subject: string
  readonly paragraphs: readonly string[]
  /** The first is a button. */
  readonly links?: readonly MailLink[]
  /** Small, below the links. */
  readonly note?: string
  /** Why one gets this mail. */
  readonly reason: string
  /** Where such mails are switched off. */
  readonly settings?: MailLink
}

export type MailLink = { readonly label: string; readonly url: string }

/** Known to every template beside its data. */
export type MailPlace = PersonPlace & {
  /** Without it mails have no links of their own. */
  readonly appUrl: string | undefined
  /** Where people reach the operator of the service. */
  readonly supportUrl?: string | undefined
}

type Describe<T extends MailTemplate> = (data: DataOf<T>, place: MailPlace) => MailContent

const ignoreIt = 'If it was not you, ignore this mail: without the link nothing happens.'

const whoGetsIt = 'You are an owner or admin of this workspace at Matte. Mails of this kind cannot be switched off.'

type Endpoint = {
  readonly targetHost: string
  readonly endpointId: string
  readonly workspaceName: string
  readonly failingSince: string
}

const describeFailing = ({ failingSince, ...endpoint }: Endpoint, place: MailPlace): string =>
  `No delivery to ${endpoint.targetHost}, the webhook endpoint ${endpoint.endpointId} of ` +
  `${plainName(endpoint.workspaceName) ?? 'your workspace'}, has succeeded since ` +
  personFormat(place).time(new Date(failingSince))

const formerRights: Readonly<Record<DataOf<'member-endpoints'>['change'], (team: string) => string>> = {
  demoted: (team) => `is no longer an owner or admin of ${team}`,
  removed: (team) => `was removed from ${team}`,
  left: (team) => `has left ${team}`,
}

export const mailTexts: { readonly [T in MailTemplate]: Describe<T> } = {
  'verify-email': ({ url }) => ({
    subject: 'Confirm your address',
    paragraphs: ['Welcome to Matte. Confirm that this address is yours, and your account is ready.'],
    links: [{ label: 'Confirm address', url }],
    note: 'The link works once, within 24 hours.',
    reason: `Somebody registered this address with Matte. ${ignoreIt}`,
  }),
  'already-registered': ({ loginUrl, resetUrl }) => ({
    subject: 'You have an account already',
    paragraphs: [
      'Somebody, probably you, registered this address with Matte. It has an account already, and nothing was changed.',
      'Sign in as before. If you no longer know your password, choose a new one.',
    ],
    links: [
      { label: 'Sign in', url: loginUrl },
      { label: 'Choose a new password', url: resetUrl },
    ],
    reason: 'Somebody tried to register this address with Matte. If it was not you, there is nothing to do.',
  }),
  'reset-password': ({ url }) => ({
    subject: 'Choose a new password',
    paragraphs: ['Somebody, probably you, asked for a new password for your account.'],
    links: [{ label: 'Choose a new password', url }],
    note: 'The link works once, within 10 minutes. Ask for another if it is too old.',
    reason: 'A new password was asked for with this address. If it was not you, ignore this mail: the old one stays.',
  }),
  'confirm-email': ({ url }) => ({
    subject: 'Confirm your new address',
    paragraphs: ['Confirm that this address is yours, and your account at Matte will use it from now on.'],
    links: [{ label: 'Confirm new address', url }],
    note: 'The link works once. Until then your account keeps its old address.',
    reason: `Somebody gave this address as the new one of an account at Matte. ${ignoreIt}`,
  }),
  'email-changing': ({ newEmail }) => ({
    subject: 'Your address is about to change',
    paragraphs: [
      `Somebody who is signed in to your account asked that it use ${newEmail} in place of this address.`,
      'It keeps this address until the new one is confirmed. If this was not you, reset your password at once.',
    ],
    reason: 'This is the address of an account at Matte whose address is being changed.',
  }),
  'failed-logins': ({ failures }, place) => ({
    subject: 'Somebody may be guessing your password',
    paragraphs: [
      `There were ${personFormat(place).number(failures)} failed attempts to sign in to your account. ` +
        'None of them got in.',
      'Further attempts are slowed down. If it was not you, there is nothing that you must do; a long password that ' +
        'you use nowhere else and two-factor authentication keep such attempts out.',
    ],
    reason: 'This is the address of an account at Matte. Warnings of this kind cannot be switched off.',
  }),
  'wrong-codes': ({ codes }, place) => ({
    subject: 'Somebody may be guessing your codes',
    paragraphs: [
      `There were ${personFormat(place).number(codes)} wrong codes for your account within a day. ` +
        'Codes are asked for after the right password.',
      'If it was not you, somebody knows your password: choose a new one at once. If you have lost the app and the ' +
        'recovery codes, the operator of this service can switch two-factor authentication off for you.',
    ],
    ...(place.supportUrl !== undefined && { links: [{ label: 'Ask the operator', url: place.supportUrl }] }),
    reason: 'This is the address of an account at Matte. Warnings of this kind cannot be switched off.',
  }),
  'team-invitation': ({ teamName, inviterEmail, role, url }) => {
    const team = plainName(teamName)
    return {
      subject: `${inviterEmail} invites you to ${team ?? 'a team'}`,
      paragraphs: [
        `${inviterEmail} invites you to ${team ? `the team ${team}` : 'a team'} at Matte, in the role ${role}.`,
      ],
      links: [{ label: 'See the invitation', url }],
      note: 'The link works once, within 7 days, for somebody who is signed in with this address.',
      reason: 'A member of the team gave this address. If you do not know the team, ignore this mail.',
    }
  },
  'referral-invitation': ({ inviterName, inviterEmail, url }) => {
    const inviter = plainName(inviterName) ?? inviterEmail ?? 'Somebody'
    return {
      subject: `${inviter} invites you to Matte`,
      paragraphs: [`${inviter} uses Matte to remove the background of photos, and thinks that you might like it.`],
      links: [{ label: 'Try Matte', url }],
      reason: `${inviter} gave this address. If you do not register, you get no other mail.`,
    }
  },
  'endpoint-failing': ({ disabledAfterDays, ...endpoint }, place) => ({
    subject: `Your webhooks to ${endpoint.targetHost} fail`,
    paragraphs: [
      `${describeFailing(endpoint, place)}.`,
      'Every delivery is tried again for hours. An endpoint that fails for ' +
        `${personFormat(place).number(disabledAfterDays)} days is disabled, and gets nothing until you enable it ` +
        'again. What failed before can be sent again.',
    ],
    reason: whoGetsIt,
  }),
  'endpoint-disabled': (endpoint, place) => ({
    subject: `Your webhooks to ${endpoint.targetHost} are disabled`,
    paragraphs: [
      `${describeFailing(endpoint, place)}, so it was disabled.`,
      'Once the receiver works, set the status of the endpoint to enabled, and have what failed before sent again.',
    ],
    reason: whoGetsIt,
  }),
  'member-endpoints': ({ teamName, memberEmail, change, endpoints }) => {
    const team = plainName(teamName) ?? 'your team'
    return {
      subject: `Webhook endpoints that ${memberEmail} made in ${team}`,
      paragraphs: [
        `${memberEmail} ${formerRights[change](team)}. Webhook endpoints that this member made go on getting events:`,
        ...endpoints.map(({ id, targetHost }) => `${targetHost}, the endpoint ${id}`),
        'Check that each receiver still belongs to your team. Delete an endpoint that does not, and rotate the ' +
          'secret of an endpoint that stays.',
      ],
      reason: 'You are an owner of this team at Matte. Mails of this kind cannot be switched off.',
    }
  },
  notification: ({ event, title, body }, { appUrl, supportUrl }) => ({
    subject: title,
    paragraphs: [body],
    links: [
      ...(appUrl === undefined ? [] : [{ label: 'Open Matte', url: appUrl }]),
      ...(supportUrl === undefined || !isSecondFactor(event) ? [] : [{ label: 'Ask the operator', url: supportUrl }]),
    ],
    reason: isSecurity(event)
      ? 'This concerns the security of your account. Mails of this kind cannot be switched off.'
      : 'You have an account at Matte, and mails of this kind are on.',
    ...(appUrl !== undefined &&
      !isSecurity(event) && {
        settings: { label: 'Choose which mails you get', url: `${appUrl}/settings/notifications` },
      }),
  }),
}

const isSecurity = (event: string): boolean => event.startsWith('security.')
const isSecondFactor = (event: string): boolean => event.startsWith('security.mfa_')
