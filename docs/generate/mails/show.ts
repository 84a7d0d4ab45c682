// `make mails`: one page with every mail, as text and as rendered HTML.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mailSamples } from './samples.ts'

const folder = join(import.meta.dirname, '../../../.local/mails')
const page = join(folder, 'index.html')

const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (char) => `&#${char.codePointAt(0)};`)

const samples = Object.values(mailSamples).flatMap((mails) => Object.entries(mails))
const sections = samples.map(
  ([name, { subject, text, html }]) => `<h2>${name}: ${escapeHtml(subject)}</h2>
<div style="display:flex;gap:16px"><iframe style="flex:1;height:520px" srcdoc="${escapeHtml(html)}"></iframe>
<pre style="flex:1;white-space:pre-wrap">${escapeHtml(text)}</pre></div>`,
)

mkdirSync(folder, { recursive: true })
writeFileSync(page, `<!doctype html><meta charset="utf-8"><title>Mails</title>\n${sections.join('\n')}\n`)
process.stdout.write(`${page}\n`)
