// Settings of people's accounts; a part of config.ts.
import { flag, int, parsed, type Schema } from '@matte/core/runtime/env'

const registrations = ['open', 'invite', 'closed'] as const
export type Registration = (typeof registrations)[number]

export const accountSettings = {
  appUrl: parsed<string | undefined>(
    'APP_URL',
    {
      description: 'where links in mails lead, such as https://app.example.com; without it pages of the API',
      default: undefined,
    },
    parseAppUrl,
  ),
  mailEnabled: flag('MAIL_ENABLED', {
    description:
      'the dispatcher has an SMTP server; without one registration, invitations and reset are off in production',
    default: false,
  }),
  registration: parsed<Registration | undefined>(
    'AUTH_REGISTRATION',
    {
      description: 'who may register: open, invite or closed; open in development, else invite',
      default: undefined,
    },
    parseRegistration,
  ),
  verificationMailsPerMinute: int('VERIFICATION_MAILS_PER_MINUTE', {
    description:
      'most mails a minute that verify an address, over all replicas; further ones wait. One address gets five at ' +
      'once, then one an hour. 0: no bound',
    default: 120,
    max: 100_000,
  }),
} as const satisfies Schema

function parseRegistration(value: string): Registration {
  const known = registrations.find((each) => each === value)
  if (known === undefined) throw new Error(`must be one of ${registrations.join(', ')}`)
  return known
}

function parseAppUrl(value: string): string {
  const url = URL.parse(value)
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new Error('must be an http or https URL without query and fragment')
  }
  return url.href.replace(/\/$/, '')
}
