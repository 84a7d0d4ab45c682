import { renderMail } from '@matte/dispatcher/mail/render-mail'
import { defaultLocale, languages } from '@matte/people/mail/person-format'
import { describeEvent } from '@matte/people/notification/event-texts'
import { describe, expect, it } from 'vitest'
import { mailSamples } from './samples.ts'

const place = { appUrl: 'https://app.example.com', ...defaultLocale }

it.each([
  ['en', 'mails.txt'],
  ['de', 'mails-de.txt'],
] as const)('matches the expected text of every mail in %s', async (language, file) => {
  const texts = Object.entries(mailSamples[language]).map(
    ([name, { subject, text }]) => `# ${name}\nSubject: ${subject}\n\n${text}`,
  )
  await expect(texts.join('\n')).toMatchFileSnapshot(`${import.meta.dirname}/${file}`)
})

it('matches the expected HTML of one mail', async () => {
  await expect(mailSamples.en['verify-email']?.html).toMatchFileSnapshot(`${import.meta.dirname}/verify-email.html`)
})

/** Numbers, addresses and links in a text, which are the same in every language. */
const factsOf = (text: string): string[] => {
  const found = text.match(/(https?|mailto):\S+|\S+@\S+|\d+/g) ?? []
  return found.map((fact) => fact.replace(/[.,:;]$|^0(?=\d)/g, '')).sort()
}

it.each(Object.keys(mailSamples.en))('%s says the same in every language', (name) => {
  const [english, ...others] = languages.map((language) => mailSamples[language][name])
  expect(others).toHaveLength(languages.length - 1)
  for (const other of others) {
    expect(factsOf(`${other?.subject} ${other?.text}`)).toEqual(factsOf(`${english?.subject} ${english?.text}`))
    expect(other?.text).not.toBe(english?.text)
  }
})

it('names its language, that of the locale, or English', () => {
  const langOf = (locale: string) =>
    /<html lang="(.*?)">/.exec(renderMail('failed-logins', { failures: 20 }, { ...place, locale }).html)?.[1]
  expect(['de', 'de-AT', 'DE-ch', 'en-GB', 'fr', 'den', ''].map(langOf)).toEqual([
    'de',
    'de',
    'de',
    'en',
    'en',
    'en',
    'en',
  ])
})

describe('a mail', () => {
  it('has no missing field and no line that is too long', () => {
    for (const { subject, text, html } of Object.values(mailSamples).flatMap((mails) => Object.values(mails))) {
      expect(subject + text + html).not.toMatch(/undefined|NaN|\[object|Invalid Date/)
      expect(Math.max(...html.split('\n').map((line) => line.length))).toBeLessThan(998)
    }
  })

  it('escapes user input, and keeps it on one line', () => {
    const data = {
      ...{ inviterEmail: 'ada@example.com', role: 'member', url: 'https://app.example.com/?a=1&b="2"' },
      teamName: '<img src=x onerror=alert(1)>\r\nBcc: everybody@example.com \u202egnp.exe',
    }
    const { subject, text, html } = renderMail('team-invitation', data, place)
    expect(subject).not.toMatch(/[\r\n\u202e]/)
    expect(text).not.toMatch(/^Bcc:/m)
    expect(html).not.toContain('<img')
    expect(html).toContain('img src=x onerror=alert(1) Bcc: everybody example com gnp exe')
    expect(html).toContain('href="https://app.example.com/?a=1&amp;b=&quot;2&quot;"')
  })

  it('has only http and https links', () => {
    const { text, html } = renderMail('verify-email', { url: 'javascript:alert(1)' }, place)
    expect(text + html).not.toContain('javascript:')
  })

  it('has a subject of bounded length, and no links without a known base URL', () => {
    const title = 'x'.repeat(500)
    const data = { event: 'welcome', title, body: 'Hello.' }
    const { subject, text } = renderMail('notification', data, { ...defaultLocale, appUrl: undefined })
    expect(subject).toHaveLength(150)
    expect(text).not.toContain('http')
  })

  it('isolates the text direction of dates and numbers, and removes direction marks from user input', () => {
    const egypt = { ...place, locale: 'ar-EG', timeZone: 'Africa/Cairo' }
    const body = describeEvent('subscription.canceled', { period_end: '2026-12-31T12:00:00.000Z' }, egypt).body
    const { text, html } = renderMail('notification', { event: 'subscription.canceled', title: 'T', body }, egypt)
    expect(text).toContain('The plan ends on \u2068٣١ ديسمبر ٢٠٢٦\u2069. You can resume it')
    expect(html).toContain('The plan ends on <bdi>٣١ ديسمبر ٢٠٢٦</bdi>. You can resume it')
    const money = describeEvent('payment.succeeded', { amount: 1_999, currency: 'EUR' }, egypt).body
    const paid = renderMail('notification', { event: 'payment.succeeded', title: 'T', body: money }, egypt)
    expect(paid.html).toContain('<bdi>\u200f١٩٫٩٩ €</bdi>')
    const forged = '\u2068a\u202eb\u2069 \u2068c \u2067d\u2069 e\u2069 \u202ef'
    const odd = renderMail('notification', { event: 'welcome', title: forged, body: forged }, place)
    expect(odd.subject).toBe('a b c d e f')
    expect(odd.text).toMatch(/^\u2068a b\u2069 c d e f$/m)
    expect(odd.html).toContain('<bdi>a b</bdi> c d e f')
  })

  it.each([
    ['en', 'UTC', 'since November 17, 2026 at 9:30 AM UTC'],
    ['de-DE', 'Europe/Berlin', 'seit dem 17. November 2026 um 10:30 MEZ'],
    ['en-US', 'America/New_York', 'since November 17, 2026 at 4:30 AM EST'],
    ['ja-JP', 'Asia/Tokyo', 'since 2026年11月17日 18:30 JST'],
    ['en-GB', 'Asia/Kathmandu', 'since 17 November 2026 at 15:15 GMT+5:45'],
    ['tlh', 'Mars/Olympus', 'since November 17, 2026 at 9:30 AM UTC'],
  ])('writes times as %s does, in %s', (locale, timeZone, words) => {
    const endpoint = { targetHost: 'hooks.example.com:443', endpointId: 'e', workspaceName: 'Shop' }
    const data = { ...endpoint, failingSince: '2026-11-17T09:30:00.000Z', disabledAfterDays: 5 }
    expect(renderMail('endpoint-failing', data, { ...place, locale, timeZone }).text).toContain(words)
  })

  it('removes text that a mail program would turn into a link from names', () => {
    const evil = 'Win at https://evil.example/now, mail win@evil.example <b>now</b>'
    const url = 'https://app.example.com/x'
    const endpoint = { targetHost: 'h.example.com:443', endpointId: 'e', workspaceName: evil }
    const failing = { ...endpoint, failingSince: '2026-11-17T09:30:00.000Z' }
    const invitation = { teamName: evil, inviterEmail: 'ada@example.com', role: 'member', url }
    const expiring = { name: 'production', lastFour: '9xQ2', expiresAt: '2026-12-24T09:30:00.000Z' }
    const mails = [
      renderMail('referral-invitation', { inviterName: evil, inviterEmail: 'ada@example.com', url }, place),
      renderMail('team-invitation', invitation, place),
      renderMail('endpoint-failing', { ...failing, disabledAfterDays: 5 }, place),
      renderMail('endpoint-disabled', failing, place),
      renderMail('keys-expiring', { workspaceName: evil, keys: [expiring] }, place),
      renderMail('keys-expiring', { workspaceName: null, keys: [{ ...expiring, name: evil }] }, place),
    ]
    for (const { subject, text, html } of mails) {
      expect(subject + text + html).not.toMatch(/evil\.example|win@|https?:\/\/evil|&lt;b/)
      expect(text).toContain('Win at https evil example now, mail win evil example b now')
    }
    const nameless = renderMail('referral-invitation', { inviterName: '', inviterEmail: 'ada@example.com', url }, place)
    expect(nameless.subject).toBe('ada@example.com invites you to Matte')
    expect(renderMail('team-invitation', { ...invitation, teamName: '@@' }, place).subject).toBe(
      'ada@example.com invites you to a team',
    )
  })
})
