// Links of a page: to other pages relative, so they lead to HTML on the site and to Markdown in the Markdown of a page.
import { posix } from 'node:path'
import { basePath } from './page.ts'

export type Targets = {
  /** Paths of pages by file of the repository. */
  readonly pages: ReadonlyMap<string, string>
  /** Paths of pages by a name in code, such as an error code. */
  readonly names: ReadonlyMap<string, string>
  /** Documents that are named and not linked. */
  readonly isOutside: (file: string) => boolean
}

type From = {
  /** Path of the page. */
  readonly path: string
  /** The page's file in the repository; generated pages have none. */
  readonly file?: string
}

const fenced = /(^```[\s\S]*?^```[^\n]*$)/m

/** A link or a picture with its text, or code. */
const linkOrCode = /(!?)(\[(?:[^[\]]|\[[^\]]*\](?:\([^)]*\))?)*\])\(([^)\s]+)\)|(?<!`)`([^`\n]+)`(?!`)/g

/**
 * The text with its links to pages made relative, links to files of the repository that are no pages removed, and names
 * in code linked to their pages. Pictures are copied by their path in the repository, see `write.ts`.
 * @throws Error when a link leads to a document that is no page
 */
export function linkPages(
  markdown: string,
  from: From,
  targets: Targets,
  showPicture: (file: string) => string,
): string {
  const resolve = (text: string): string =>
    text.replaceAll(linkOrCode, (all, mark: string, label: string, target: string, name: string | undefined) => {
      if (name !== undefined) return linkName(all, name, from, targets)
      if (isAbsolute(target)) return all
      if (mark === '!') return `!${label}(${relativeTo(from.path, showPicture(inRepository(from, target)))})`
      const link = linkTo(target, from, targets)
      return link === undefined ? label.slice(1, -1) : `${label}(${link})`
    })
  const parts = markdown.split(fenced)
  return parts.map((part, at) => (at % 2 === 1 ? part : withoutHeadings(part, resolve))).join('')
}

/** Headings keep their text: their anchors come from it. */
const withoutHeadings = (text: string, resolve: (text: string) => string): string =>
  text
    .split(/(^#+ .*$)/m)
    .map((part, at) => (at % 2 === 1 ? part : resolve(part)))
    .join('')

const isAbsolute = (target: string): boolean =>
  /^([a-z]+:|#)/.test(target) || (target.startsWith('/') && !target.startsWith(basePath))

function linkName(all: string, name: string, from: From, { names }: Targets): string {
  const path = names.get(name)
  return path === undefined || path === from.path ? all : `[${all}](${relativeTo(from.path, `${path}.md`)})`
}

function linkTo(target: string, from: From, { pages, isOutside }: Targets): string | undefined {
  const [name = '', anchor] = target.split('#')
  const end = anchor === undefined ? '' : `#${anchor}`
  if (name.startsWith(basePath)) return `${relativeTo(from.path, fileOf(name.slice(basePath.length)))}${end}`
  const linked = inRepository(from, name)
  const path = pages.get(linked)
  if (path !== undefined) return `${relativeTo(from.path, fileOf(path))}${end}`
  if (linked.endsWith('.md') && !isOutside(linked)) {
    throw new Error(`${from.file} links to ${linked}, which is no page: add it to docs/site/sources.ts`)
  }
  return undefined
}

const inRepository = ({ file = 'README.md' }: From, target: string): string =>
  posix.join(posix.dirname(file), target).replace(/\/$/, '')

/** The Markdown file of a page. */
export const fileOf = (path: string): string => `${path || 'index'}.md`

function relativeTo(path: string, target: string): string {
  const found = posix.relative(posix.dirname(fileOf(path)), target)
  return found.startsWith('.') ? found : `./${found}`
}
