// All pages of the site, with checked links.
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { errorCodes } from '@matte/core/error'
import { buildDocument } from '@matte/generate/build-document'
import { buildErrorPages, pathOfError } from './catalog/error-pages.ts'
import { buildEventPages, eventNames, pathOfEvent } from './catalog/event-pages.ts'
import { type Rendered, type Resolve, renderMarkdown, summaryOf } from './markdown/render.ts'
import { basePath, groups, type Page, urlOf } from './page.ts'
import { table } from './parts.ts'
import { type ApiDocument, listOperations } from './reference/operations.ts'
import { buildReferencePages } from './reference/reference-pages.ts'
import { isOutside, listSourcePages, type SourcePage } from './source-pages.ts'

export type Site = {
  readonly pages: readonly Page[]
  /** Pictures: URL on the site by path in the repository. */
  readonly pictures: ReadonlyMap<string, string>
}

/** Folders with a generated page. */
const folderPages: Readonly<Record<string, string>> = { 'charts/matte/runbooks': 'runbooks' }

/** @throws Error naming each broken link */
export async function buildSite(root: string, pictureUrl: (file: string) => string): Promise<Site> {
  const sources = listSourcePages(root)
  const pictures = new Map<string, string>()
  const resolver = createResolver(root, sources, (file) => {
    const url = pictureUrl(file)
    pictures.set(file, url)
    return url
  })
  const written = sources.map((source) => {
    const text = readFileSync(join(root, source.file), 'utf8')
    return toPage(source, renderMarkdown(text, resolver(source.file, source.path)))
  })
  const resolve = resolver('README.md')
  const document = (await buildDocument()) as ApiDocument
  const operations = listOperations(document)
  const pages = [
    ...written,
    ...buildReferencePages(document, operations, resolve),
    ...buildErrorPages(operations, resolve),
    ...buildEventPages(resolve),
    buildRunbookIndex(written),
  ]
  const sorted = groups.flatMap((group) => pages.filter((page) => page.group === group))
  const broken = findBrokenLinks(sorted, new Set(pictures.values()))
  if (broken.length > 0) throw new Error(`The documentation has broken links:\n${broken.join('\n')}`)
  return { pages: withIndexesFirst(sorted), pictures }
}

const toPage = ({ path, group, label, title }: SourcePage, { title: heading, html, headings }: Rendered): Page => ({
  ...{ path, title: title ?? heading, group, html, headings },
  ...(label !== undefined && { label }),
})

/** `errors` before `errors/NOT_FOUND`. */
const withIndexesFirst = (pages: readonly Page[]): Page[] =>
  groups.flatMap((group) => {
    const own = pages.filter((page) => page.group === group)
    const isIndex = ({ path }: Page) => own.some((other) => other.path.startsWith(`${path}/`))
    return [...own.filter(isIndex), ...own.filter((page) => !isIndex(page))]
  })

function createResolver(root: string, sources: readonly SourcePage[], pictureUrl: (file: string) => string) {
  const pathByFile = new Map(sources.map(({ file, path }) => [file, path]))
  const namePaths = new Map([
    ...errorCodes.map((code) => [code, pathOfError(code)] as const),
    ...eventNames.map((event) => [event, pathOfEvent(event)] as const),
    ...sources.filter(({ group }) => group === 'Runbooks').map(({ label = '', path }) => [label, path] as const),
  ])
  return (file: string, ownPath?: string): Resolve => {
    const inRepository = (target: string) => posix.join(posix.dirname(file), target).replace(/\/$/, '')
    return {
      link: (target) => {
        if (/^([a-z]+:|#|\/)/.test(target)) return target
        const [name = '', anchor] = target.split('#')
        const linked = inRepository(name)
        const path = pathByFile.get(linked) ?? folderPages[linked]
        if (path !== undefined) return `${urlOf(path)}${anchor === undefined ? '' : `#${anchor}`}`
        if (linked.endsWith('.md') && !isOutside(linked))
          throw new Error(`${file} links to ${linked}, which is no page: add it to source-pages.ts`)
        return undefined
      },
      image: (target) => {
        const picture = inRepository(target)
        if (!existsSync(join(root, picture))) throw new Error(`${file} shows ${picture}, which does not exist`)
        return pictureUrl(picture)
      },
      name: (name) => {
        const path = namePaths.get(name)
        return path === undefined || path === ownPath ? undefined : urlOf(path)
      },
    }
  }
}

function buildRunbookIndex(pages: readonly Page[]): Page {
  const rows = pages
    .filter(({ group }) => group === 'Runbooks')
    .map(({ path, title, html }) => [`<a href="${urlOf(path)}">${title}</a>`, summaryOf(html)])
  const html = `<h1>Runbooks</h1>\n<p class="lead">One page per alert of the chart: what callers see, where to look, what \
to do.</p>\n${table(['alert', 'meaning'], rows)}`
  return { path: 'runbooks', title: 'Runbooks', label: 'All alerts', group: 'Runbooks', html, headings: [] }
}

/** Links to pages, anchors or pictures that do not exist, as `page: link`. */
export function findBrokenLinks(pages: readonly Page[], pictures: ReadonlySet<string>): string[] {
  const anchors = new Map(
    pages.map(({ path, html }) => [
      urlOf(path),
      new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id)),
    ]),
  )
  return pages.flatMap(({ path, html }) =>
    [...html.matchAll(/\s(?:href|src)="([^"]+)"/g)].flatMap(([, link = '']) => {
      const [target = '', anchor] = (link.startsWith('#') ? `${urlOf(path)}${link}` : link).split('#')
      if (!target.startsWith(basePath) || pictures.has(target)) return []
      const found = anchors.get(target)
      const exists = found !== undefined && (anchor === undefined || found.has(decodeURIComponent(anchor)))
      return exists ? [] : [`${urlOf(path)}: ${link}`]
    }),
  )
}
