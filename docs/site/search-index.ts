// Sections of all pages for the search in the browser. The browser builds the index when the search is first opened.
import { textOf } from './html.ts'
import { type Page, urlOf } from './page.ts'

/** One section: URL, page title, heading, text. Short keys keep the file small. */
export type IndexedSection = { readonly u: string; readonly p: string; readonly h: string; readonly t: string }

/** Characters of a section that are searched and shown; long code and tables are cut. */
const textMax = 1_500

export const buildSearchIndex = (pages: readonly Page[]): IndexedSection[] =>
  pages.flatMap((page) => {
    const url = urlOf(page.path)
    const [intro = '', ...sections] = page.html.split(/(?=<h[23] id=)/)
    const first = { u: url, p: page.title, h: '', t: sectionText(intro.replace(/<h1[\s\S]*?<\/h1>/, '')) }
    return [
      first,
      ...sections.map((html) => {
        const [, id = '', heading = ''] = /^<h[23] id="([^"]+)">([\s\S]*?)<\/h[23]>/.exec(html) ?? []
        const text = sectionText(html.replace(/^<h[23][\s\S]*?<\/h[23]>/, ''))
        return { u: `${url}#${id}`, p: page.title, h: textOf(withoutAnchor(heading)), t: text }
      }),
    ]
  })

const withoutAnchor = (html: string): string => html.replaceAll(/<a class="anchor"[\s\S]*?<\/a>/g, '')

const sectionText = (html: string): string => textOf(withoutAnchor(html)).slice(0, textMax)
