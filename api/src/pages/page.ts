// Layout and headers of every page. The headers forbid scripts, inline styles, frames, referrers and caching.
import type { FastifyReply } from 'fastify'
import { type Html, html } from './html.ts'
import type { PageTexts } from './texts/english-pages.ts'
import { textsFor } from './texts/page-texts.ts'

/** Default of APP_URL without the console, below the origin of the API. */
export const pagesPath = '/api/v1/app/pages'

export type Page = {
  readonly title: string
  readonly content: Html
  readonly hasProblem?: boolean
  readonly status?: 404
}

const policy = [
  "default-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "object-src 'none'",
].join('; ')

const headers = {
  'content-security-policy': policy,
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex',
}

export const sendPage = (reply: FastifyReply, page: Page): FastifyReply =>
  reply
    .code(page.status ?? reply.statusCode)
    .headers(headers)
    .type('text/html; charset=utf-8')
    .send(toDocument(page, textsFor(reply.request)).text)

const toDocument = (
  { title, content, hasProblem = false }: Page,
  { language, errorPrefix }: PageTexts,
): Html => html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${hasProblem && errorPrefix}${title} · Matte</title>
<link rel="stylesheet" href="${pagesPath}/style.css">
<link rel="icon" href="${pagesPath}/icon.svg" type="image/svg+xml">
</head>
<body>
<header><span class="brand"><img src="${pagesPath}/icon.svg" alt="" width="28" height="28"> Matte</span></header>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`

export const paragraph = (text: string): Html => html`<p>${text}</p>\n`

export const link = (path: string, label: string): Html => html`<p><a href="${path}">${label}</a></p>\n`
