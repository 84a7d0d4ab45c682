// Markdown to HTML: anchors of headings, links between files, linked names, code and diagrams.
import MarkdownIt, { type Token } from 'markdown-it'
import { drawDiagram } from '../diagram/draw.ts'
import { escapeHtml, textOf } from '../html.ts'
import type { Heading } from '../page.ts'
import { codeBlock } from './code.ts'
import { createSlugger } from './slug.ts'

export type Resolve = {
  /** URL of a link in the text. Undefined: a file of the repository without a page. */
  readonly link: (target: string) => string | undefined
  readonly image: (target: string) => string
  /** Page of a name in code, such as an error code. */
  readonly name: (name: string) => string | undefined
}

export type Rendered = { readonly title: string; readonly html: string; readonly headings: readonly Heading[] }

type Env = { readonly resolve: Resolve; readonly headings: Heading[] }

const markdown = new MarkdownIt({ html: false, linkify: false })

const { rules } = markdown.renderer
rules.fence = (tokens, index) => {
  const { info = '', content = '' } = tokens[index] ?? {}
  const language = info.trim().split(/\s/)[0] ?? ''
  return language === 'mermaid' ? drawDiagram(content) : codeBlock(content, language)
}
rules.code_block = (tokens, index) => codeBlock(tokens[index]?.content ?? '')
rules.table_open = () => '<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n'
rules.table_close = () => '</table></div>\n'
rules.code_inline = (tokens, index, _options, env) => {
  const { content = '' } = tokens[index] ?? {}
  const code = `<code>${escapeHtml(content)}</code>`
  const url = isInLink(tokens, index) ? undefined : (env as unknown as Env).resolve.name(content)
  return url === undefined ? code : `<a href="${escapeHtml(url)}">${code}</a>`
}

function isInLink(tokens: readonly Token[], index: number): boolean {
  const before = tokens.slice(0, index)
  const count = (type: string) => before.filter((token) => token.type === type).length
  return count('link_open') > count('link_close')
}

markdown.core.ruler.push('site', (state) => {
  const { resolve, headings } = state.env as unknown as Env
  const slug = createSlugger()
  state.tokens.forEach((token, at) => {
    if (token.type === 'inline') resolveInline(token.children ?? [], resolve)
    if (token.type !== 'heading_open') return
    const source = state.tokens[at + 1]
    const text = plainText(source?.children ?? [])
    const id = slug(text)
    token.attrSet('id', id)
    headings.push({ level: Number(token.tag.slice(1)), id, text })
    if (token.tag !== 'h1') appendAnchor(source, state.Token, { id, text })
  })
})

const plainText = (tokens: readonly Token[]): string => tokens.map(({ content }) => content).join('')

/** A link to the heading itself, shown beside it. */
function appendAnchor(heading: Token | undefined, token: typeof Token, { id, text }: Pick<Heading, 'id' | 'text'>) {
  const anchor = new token('html_inline', '', 0)
  anchor.content = anchorLink(id, text)
  heading?.children?.push(anchor)
}

export const anchorLink = (id: string, text: string): string =>
  ` <a class="anchor" href="#${id}" aria-label="Link to ${escapeHtml(text)}">#</a>`

function resolveInline(tokens: Token[], resolve: Resolve): void {
  const open: Token[] = []
  for (const token of tokens) {
    if (token.type === 'image') token.attrSet('src', resolve.image(String(token.attrGet('src'))))
    if (token.type === 'link_open') {
      open.push(token)
      const url = resolve.link(String(token.attrGet('href')))
      if (url !== undefined) token.attrSet('href', url)
      else toFileName(token)
    }
    if (token.type === 'link_close' && open.pop()?.tag === 'span') token.tag = 'span'
  }
}

/** Files without a page are named and not linked. */
function toFileName(token: Token): void {
  token.tag = 'span'
  token.attrs = [
    ['class', 'file'],
    ['title', `${token.attrGet('href')} in the repository`],
  ]
}

/** @throws Error when a link leads to no page */
export function renderMarkdown(text: string, resolve: Resolve): Rendered {
  const env: Env = { resolve, headings: [] }
  // Generated sections are marked by comments.
  const body = text.replaceAll(/^<!--.*?-->\n/gm, '')
  const html = markdown.render(body, env as never)
  const title = env.headings.find(({ level }) => level === 1)?.text ?? ''
  return { title, html, headings: env.headings.filter(({ level }) => level === 2 || level === 3) }
}

/** Markdown of a description: a few words or paragraphs, without headings. */
export const renderDescription = (text: string, resolve: Resolve): string => renderMarkdown(text, resolve).html

export const renderInline = (text: string, resolve: Resolve): string => {
  const html = renderMarkdown(text, resolve).html.trim()
  return /^<p>[\s\S]*<\/p>$/.test(html) && html.lastIndexOf('<p>') === 0 ? html.slice(3, -4) : html
}

export const summaryOf = (html: string): string => {
  const text = textOf(/<p>([\s\S]*?)<\/p>/.exec(html)?.[1] ?? '')
  return text.length <= 160 ? text : `${text.slice(0, 157).replace(/\s\S*$/, '')}…`
}
