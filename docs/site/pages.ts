// All pages of the site as Markdown, with the pictures that they show.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorCodes } from '@matte/core/error'
import { buildDocument } from '@matte/generate/build-document'
import { buildErrorPages, pathOfError } from './catalog/error-pages.ts'
import { buildEventPages, eventNames, pathOfEvent } from './catalog/event-pages.ts'
import { fileOf, linkPages, type Targets } from './links.ts'
import { join as joinBlocks, table } from './markdown.ts'
import { type Page, urlOf } from './page.ts'
import { type ApiDocument, listOperations } from './reference/operations.ts'
import { buildReferencePages } from './reference/reference-pages.ts'
import { buildSidebar, type SidebarGroup } from './sidebar.ts'
import { isOutside, listSources, titles } from './sources.ts'

/** Folders with a generated page. */
const folderPages = { 'charts/matte/runbooks': 'runbooks' }

export type Site = {
  readonly pages: readonly Page[]
  readonly sidebar: readonly SidebarGroup[]
  /** Files of the repository by their path on the site. */
  readonly pictures: ReadonlyMap<string, string>
}

/** @throws Error when a link leads to no page, a picture does not exist, or a page is missing in the sidebar */
export async function buildPages(root: string): Promise<Site> {
  const sources = listSources(root)
  const written = [...sources].map(([file, path]) => readPage(root, file, path))
  const document = (await buildDocument()) as ApiDocument
  const operations = listOperations(document)
  const pages = [
    ...written,
    ...buildReferencePages(document, operations),
    ...buildErrorPages(operations),
    ...buildEventPages(),
    buildRunbookIndex(written),
  ]
  const files = new Map([...sources].map(([file, path]) => [path, file]))
  const targets = targetsOf(sources)
  const pictures = new Map<string, string>()
  const linked = pages.map((page) => {
    const file = files.get(page.path)
    const from = { path: page.path, ...(file !== undefined && { file }) }
    const markdown = linkPages(page.markdown, from, targets, (picture) => {
      if (!existsSync(join(root, picture))) throw new Error(`${file} shows ${picture}, which does not exist`)
      const path = `pictures/${picture.replaceAll('/', '-')}`
      pictures.set(path, join(root, picture))
      return path
    })
    return { ...page, markdown }
  })
  const sidebar = buildSidebar(new Map(linked.map(({ path, title }) => [path, title])))
  return { pages: linked, sidebar, pictures }
}

function readPage(root: string, file: string, path: string): Page {
  // Generated sections are marked by comments.
  const text = readFileSync(join(root, file), 'utf8').replaceAll(/^<!--.*?-->\n/gm, '')
  const [line, heading] = /^# (.+)$/m.exec(text) ?? []
  if (line === undefined || heading === undefined) throw new Error(`${file} has no title: begin it with "# "`)
  const title = titles[path] ?? heading.replaceAll('`', '')
  return { path, title, markdown: path in titles ? text.replace(line, `# ${title}`) : text }
}

const targetsOf = (sources: ReadonlyMap<string, string>): Targets => ({
  pages: new Map([...sources, ...Object.entries(folderPages)]),
  names: new Map([
    ...errorCodes.map((code) => [code, pathOfError(code)] as const),
    ...eventNames.map((event) => [event, pathOfEvent(event)] as const),
    ...[...sources.values()]
      .filter((path) => path.startsWith('runbooks/'))
      .map((path) => [path.slice('runbooks/'.length), path] as const),
  ]),
  isOutside,
})

function buildRunbookIndex(pages: readonly Page[]): Page {
  const rows = pages
    .filter(({ path }) => path.startsWith('runbooks/'))
    .map(({ path, title, markdown }) => [`[${title}](${urlOf(path)})`, summaryOf(markdown)])
  const markdown = joinBlocks(
    '# Runbooks',
    'One page per alert of the chart: what callers see, where to look, what to do.',
    table(['alert', 'meaning'], rows),
  )
  return { path: 'runbooks', title: 'Runbooks', markdown }
}

/** The first paragraph. */
const summaryOf = (markdown: string): string =>
  markdown
    .split('\n\n')
    .find((block) => !/^(#|\||```|!|>|:::|- |<)/.test(block))
    ?.replaceAll(/\s*\n\s*/g, ' ') ?? ''

/** As https://llmstxt.org describes it: every page, with its first sentence. */
export function writeIndex({ pages, sidebar }: Site): string {
  const byPath = new Map(pages.map((page) => [page.path, page]))
  const entry = ({ path, title, markdown }: Page) =>
    `- [${title}](${urlOf(fileOf(path))}): ${plain(summaryOf(markdown))}`
  const inSidebar = sidebar.map(({ text, items }) => {
    const own = items.flatMap(({ link }) => byPath.get(link.slice(1)) ?? [])
    return `## ${text}\n\n${own.map(entry).join('\n')}`
  })
  const listed = new Set(sidebar.flatMap(({ items }) => items.map(({ link }) => link.slice(1))))
  const others = pages.filter(({ path }) => !listed.has(path))
  const home = byPath.get('')
  return joinBlocks(
    `# ${home?.title}`,
    `> ${plain(summaryOf(home?.markdown ?? ''))}`,
    ...inSidebar,
    `## Error codes, events and runbooks\n\n${others.map(entry).join('\n')}`,
  )
}

const plain = (markdown: string): string => {
  const text = markdown.replaceAll(/\[((?:[^[\]]|\[[^\]]*\])*)\]\([^)]*\)/g, '$1')
  return /^.*?[.](?= |$)/.exec(text)?.[0] ?? text
}
