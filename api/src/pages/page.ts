// The document around every page, and its headers (D91). They forbid scripts, inline styles, frames, referrers and
// copies in caches.
import type { FastifyReply } from 'fastify'
import { type Html, html } from './html.ts'
import { pagesPath } from './pages-path.ts'

export type Page = {
  readonly title: string
  /** Below the heading. */
  readonly content: Html
  /** The page shows a form again because something was wrong with it. */
  readonly hasProblem?: boolean
  /** Of a link that no longer works; any other page has the status that the reply has by then. */
  readonly status?: 404
}

/** `default-src` allows the stylesheet and the icon; forms go to this origin alone. */
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
    .send(toDocument(page).text)

const toDocument = ({ title, content, hasProblem = false }: Page): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${hasProblem && 'Error: '}${title} · Matte</title>
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

export const link = (path: string, label: string): Html => html`<p><a href="${pagesPath}${path}">${label}</a></p>\n`
