import { personFormat } from '@matte/people/mail/person-format'
import { plainName } from '@matte/people/mail/plain-name'
import type { DataOf } from '@matte/people/mail/templates'
import { isSecondFactor, isSecurity, type MailPlace, type MailTexts } from './mail-content.ts'

const ignoreIt = 'If it was not you, ignore this mail: nothing happens unless the link is opened.'

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

export const englishMails: MailTexts = {
  'verify-email': ({ url }) => ({
    subject: 'Confirm your address',
    paragraphs: ['Welcome to Matte. Confirm that this address is yours, and your account is ready.'],
    links: [{ label: 'Confirm address', url }],
    note: 'The link works once, within 24 hours.',
    reason: `Someone registered this address with Matte. ${ignoreIt}`,
  }),
  'already-registered': ({ loginUrl, resetUrl }) => ({
    subject: 'You already have an account',
    paragraphs: [
      'Someone, probably you, registered this address with Matte. It already has an account, and nothing was changed.',
      'Sign in as before. If you no longer know your password, choose a new one.',
    ],
    links: [
      { label: 'Sign in', url: loginUrl },
      { label: 'Choose a new password', url: resetUrl },
    ],
    reason: 'Someone tried to register this address with Matte. If it was not you, there is nothing to do.',
  }),
  'reset-password': ({ url }) => ({
    subject: 'Choose a new password',
    paragraphs: ['Someone, probably you, requested a new password for your account.'],
    links: [{ label: 'Choose a new password', url }],
    note: 'The link works once, within 10 minutes. Request another if it has expired.',
    reason: 'A new password was requested for this address. If it was not you, ignore this mail: the old one stays.',
  }),
  'confirm-email': ({ url }) => ({
    subject: 'Confirm your new address',
    paragraphs: ['Confirm that this address is yours, and your account at Matte will use it from now on.'],
    links: [{ label: 'Confirm new address', url }],
    note: 'The link works once. Until then your account keeps its old address.',
    reason: `Someone entered this address as the new address of an account at Matte. ${ignoreIt}`,
  }),
  'email-changing': ({ newEmail }) => ({
    subject: 'Your address is about to change',
    paragraphs: [
      `Someone who is signed in to your account requested to change its address to ${newEmail}.`,
      'The account keeps this address until the new one is confirmed. If it was not you, reset your password now.',
    ],
    reason: 'This is the address of an account at Matte whose address is being changed.',
  }),
  'failed-logins': ({ failures }, place) => ({
    subject: 'Someone may be guessing your password',
    paragraphs: [
      `There were ${personFormat(place).number(failures)} failed attempts to sign in to your account. ` +
        'None of them succeeded.',
      'Further attempts are slowed down. If it was not you, you need to do nothing; a long password that you use ' +
        'nowhere else and two-factor authentication keep such attempts out.',
    ],
    reason: 'This is the address of an account at Matte. Warnings of this kind cannot be switched off.',
  }),
  'wrong-codes': ({ codes }, place) => ({
    subject: 'Someone may be guessing your codes',
    paragraphs: [
      `There were ${personFormat(place).number(codes)} wrong codes for your account within a day. ` +
        'Matte asks for a code only after the right password.',
      'If it was not you, someone knows your password: choose a new one now. If you have lost the app and the ' +
        'recovery codes, the operator of this service can switch two-factor authentication off for you.',
    ],
    ...(place.supportUrl !== undefined && { links: [{ label: 'Contact the operator', url: place.supportUrl }] }),
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
      note: 'The link works once, within 7 days, for an account with this address.',
      reason: 'A member of the team gave this address. If you do not know the team, ignore this mail.',
    }
  },
  'referral-invitation': ({ inviterName, inviterEmail, url }) => {
    const inviter = plainName(inviterName) ?? inviterEmail ?? 'Someone'
    return {
      subject: `${inviter} invites you to Matte`,
      paragraphs: [`${inviter} uses Matte to remove the background of photos, and thinks that you might like it.`],
      links: [{ label: 'Try Matte', url }],
      reason: `${inviter} entered this address. If you do not register, you get no other mail.`,
    }
  },
  'endpoint-failing': ({ disabledAfterDays, ...endpoint }, place) => ({
    subject: `Your webhooks to ${endpoint.targetHost} fail`,
    paragraphs: [
      `${describeFailing(endpoint, place)}.`,
      'Matte retries every delivery for hours. An endpoint that fails for ' +
        `${personFormat(place).number(disabledAfterDays)} days is disabled, and gets no events until you enable it ` +
        'again. Failed deliveries can be sent again.',
    ],
    reason: whoGetsIt,
  }),
  'endpoint-disabled': (endpoint, place) => ({
    subject: `Your webhooks to ${endpoint.targetHost} are disabled`,
    paragraphs: [
      `${describeFailing(endpoint, place)}, so it was disabled.`,
      'Once the receiver works, set the status of the endpoint to enabled, and send the failed deliveries again.',
    ],
    reason: whoGetsIt,
  }),
  'member-endpoints': ({ teamName, memberEmail, change, endpoints }) => {
    const team = plainName(teamName) ?? 'your team'
    return {
      subject: `Webhook endpoints that ${memberEmail} created in ${team}`,
      paragraphs: [
        `${memberEmail} ${formerRights[change](team)}. Webhook endpoints that this member created still receive events:`,
        ...endpoints.map(({ id, targetHost }) => `${targetHost}, the endpoint ${id}`),
        'Check that each receiver still belongs to your team. Delete an endpoint that does not, and rotate the ' +
          'secret of an endpoint that stays.',
      ],
      reason: 'You are an owner of this team at Matte. Mails of this kind cannot be switched off.',
    }
  },
  'keys-expiring': ({ workspaceName, keys }, place) => {
    const workspace = (workspaceName === null ? undefined : plainName(workspaceName)) ?? 'your workspace'
    const format = personFormat(place)
    return {
      subject: keys.length === 1 ? 'An API key is about to expire' : 'API keys are about to expire',
      paragraphs: [
        `Programs that use these API keys of ${workspace} get errors once the keys have expired:`,
        ...keys.map(
          ({ name, lastFour, expiresAt }) =>
            `${plainName(name) ?? 'The key'}, ending in ${lastFour}, expires ${format.time(new Date(expiresAt))}`,
        ),
        'Roll each key that is still needed: the new key gets the same name, scopes and networks, and the old one ' +
          'works during the overlap. A key that nobody needs can simply expire.',
      ],
      ...(place.appUrl !== undefined && { links: [{ label: 'Open Matte', url: place.appUrl }] }),
      reason: 'You created these keys, or are an owner of their workspace. Mails of this kind cannot be switched off.',
    }
  },
  notification: ({ event, title, body }, { appUrl, supportUrl }) => ({
    subject: title,
    paragraphs: [body],
    links: [
      ...(appUrl === undefined ? [] : [{ label: 'Open Matte', url: appUrl }]),
      ...(supportUrl === undefined || !isSecondFactor(event)
        ? []
        : [{ label: 'Contact the operator', url: supportUrl }]),
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
