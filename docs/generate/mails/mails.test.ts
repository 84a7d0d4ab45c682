import { defaultPlace } from '@matte/core/mail/person-format'
import { renderMail } from '@matte/dispatcher/mail/render-mail'
import { describe, expect, it } from 'vitest'
import { mailSamples } from './samples.ts'

const place = { appUrl: 'https://app.example.com', ...defaultPlace }

it('every mail reads like this', async () => {
  const texts = Object.entries(mailSamples).map(
    ([name, { subject, text }]) => `# ${name}\nSubject: ${subject}\n\n${text}`,
  )
  await expect(texts.join('\n')).toMatchFileSnapshot(`${import.meta.dirname}/mails.txt`)
})

it('one of them looks like this', async () => {
  await expect(mailSamples['verify-email']?.html).toMatchFileSnapshot(`${import.meta.dirname}/verify-email.html`)
})

describe('a mail', () => {
  it('leaves nothing open: no field is missing, no line is too long for a mail', () => {
    for (const { subject, text, html } of Object.values(mailSamples)) {
      expect(subject + text + html).not.toMatch(/undefined|NaN|\[object|Invalid Date/)
      expect(Math.max(...html.split('\n').map((line) => line.length))).toBeLessThan(998)
    }
  })

  it('escapes what people wrote, and keeps it on one line', () => {
    const data = {
      ...{ inviterEmail: 'ada@example.com', role: 'member', url: 'https://app.example.com/?a=1&b="2"' },
      teamName: '<img src=x onerror=alert(1)>\r\nBcc: everybody@example.com \u202egnp.exe',
    }
    const { subject, text, html } = renderMail('team-invitation', data, place)
    expect(subject).not.toMatch(/[\r\n\u202e]/)
    expect(text).not.toMatch(/^Bcc:/m)
    expect(html).not.toContain('<img')
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt; Bcc: everybody@example.com')
    expect(html).toContain('href="https://app.example.com/?a=1&amp;b=&quot;2&quot;"')
  })

  it('has no link that is none of the web', () => {
    const { text, html } = renderMail('verify-email', { url: 'javascript:alert(1)' }, place)
    expect(text + html).not.toContain('javascript:')
  })

  it('has a subject of bounded length, and no links of its own where it is not known where they lead', () => {
    const title = 'x'.repeat(500)
    const data = { event: 'welcome', title, body: 'Hello.' }
    const { subject, text } = renderMail('notification', data, { ...defaultPlace, appUrl: undefined })
    expect(subject).toHaveLength(150)
    expect(text).not.toContain('http')
  })
})
