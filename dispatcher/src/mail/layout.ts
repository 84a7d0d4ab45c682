// Layout of every mail, as text and as HTML. Text from users is escaped, on one line and of bounded length; links with
// a scheme other than http, https and mailto are left out.
import type { Language } from '@matte/people/mail/person-format'
import type { MailContent, MailLink } from './mail-content.ts'

export type RenderedMail = { readonly subject: string; readonly text: string; readonly html: string }

const subjectMax = 150

export function layOut(content: MailContent, language: Language): RenderedMail {
  const { links = [], settings, ...rest } = content
  const safe = { ...rest, links: links.filter(isSafeLink), ...(settings && isSafeLink(settings) && { settings }) }
  return {
    subject: collapse(strip(content.subject)).slice(0, subjectMax),
    text: toText(safe),
    html: toHtml(safe, language),
  }
}

const isSafeLink = ({ url }: MailLink): boolean => /^(https?|mailto):$/.test(URL.parse(url)?.protocol ?? '')

/** Unicode isolates, which formatted dates and numbers contain. They cannot reorder the text around them. */
const isolated = /(\u2068[^\u2066-\u2069]*\u2069)/u

/** Removes line breaks, control and direction characters, which could forge a header or hide text. */
const strip = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')

/** The same inside an isolate, which keeps its direction marks. */
const stripIsolate = (text: string): string =>
  `\u2068${text.slice(1, -1).replace(/(?![\u200e\u200f\u061c])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')}\u2069`

const collapse = (text: string): string => text.replace(/\s+/g, ' ').trim()

const oneLine = (text: string): string => {
  const parts = text.split(isolated)
  return collapse(parts.map((part, index) => (index % 2 === 0 ? strip(part) : stripIsolate(part))).join(''))
}

function toText({ paragraphs, links = [], note, reason, settings }: MailContent): string {
  const parts = [
    ...paragraphs.map(oneLine),
    ...links.map(({ label, url }) => `${label}:\n${url}`),
    ...(note === undefined ? [] : [oneLine(note)]),
    ['--', oneLine(reason), ...(settings === undefined ? [] : [`${settings.label}: ${settings.url}`])].join('\n'),
  ]
  return `${parts.join('\n\n')}\n`
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escapeHtml = (text: string): string => oneLine(text).replace(/[&<>"']/g, (char) => escapes[char] ?? char)

/** Content of an element; an isolate becomes a `<bdi>` element. */
const toInline = (text: string): string => escapeHtml(text).replaceAll('\u2068', '<bdi>').replaceAll('\u2069', '</bdi>')

const colours = { page: '#f4f5f7', card: '#ffffff', ink: '#1c2430', soft: '#5b6675', accent: '#1f5fd0' }
const font = 'font-family:-apple-system,BlinkMacSystemFont,Segoe UI,Roboto,Helvetica,Arial,sans-serif'
const pageStyle =
  `margin:0;padding:24px 12px;background:${colours.page};color:${colours.ink};${font};` +
  'font-size:16px;line-height:24px'
const plain = 'role="presentation" cellspacing="0" cellpadding="0" border="0"'

function toHtml(content: MailContent, language: Language): string {
  const { subject, paragraphs, links = [], note, reason, settings } = content
  const [button, ...others] = links
  const body = [
    `<h1 style="margin:0 0 16px;font-size:20px;line-height:28px">${escapeHtml(subject)}</h1>`,
    ...paragraphs.map((text) => `<p style="margin:0 0 16px">${toInline(text)}</p>`),
    ...(button === undefined ? [] : [buttonOf(button)]),
    ...others.map((link) => `<p style="margin:0 0 16px">${anchor(link)}</p>`),
    ...(note === undefined ? [] : [`<p style="margin:0;font-size:14px;color:${colours.soft}">${escapeHtml(note)}</p>`]),
  ]
  const foot = settings === undefined ? escapeHtml(reason) : `${escapeHtml(reason)} ${anchor(settings)}.`
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light">
<title>${escapeHtml(subject)}</title>
</head>
<body style="${pageStyle}">
<table ${plain} width="100%"><tr><td align="center">
<table ${plain} style="width:100%;max-width:560px;text-align:left">
<tr><td style="padding:0 8px 12px;font-weight:600;color:${colours.soft}">Matte</td></tr>
<tr><td style="padding:28px;background:${colours.card};border-radius:8px">
${body.join('\n')}
</td></tr>
<tr><td style="padding:16px 8px;font-size:13px;line-height:20px;color:${colours.soft}">${foot}</td></tr>
</table>
</td></tr></table>
</body>
</html>
`
}

const anchor = ({ label, url }: MailLink): string =>
  `<a href="${escapeHtml(url)}" style="color:${colours.accent}">${escapeHtml(label)}</a>`

/** The URL is also shown as text, for clients that show no buttons. */
function buttonOf({ label, url }: MailLink): string {
  const style =
    `display:inline-block;padding:12px 20px;border-radius:6px;background:${colours.accent};color:#ffffff;` +
    'text-decoration:none;font-weight:600'
  const small = `margin:0 0 16px;font-size:13px;line-height:20px;color:${colours.soft};word-break:break-all`
  const href = escapeHtml(url)
  return `<p style="margin:8px 0 20px"><a href="${href}" style="${style}">${escapeHtml(label)}</a></p>
<p style="${small}">${href}</p>`
}
