import { type DefaultTheme, defineConfig } from 'vitepress'
import { basePath, slugOf } from '../page.ts'
import { makeAccessible } from './accessible.ts'
import { drawDiagram } from './diagram.ts'
import { highlight } from './highlight.ts'
import { listPackages } from './packages.ts'

// `build.ts` writes the pages and says where.
const srcDir = process.env.SITE_PAGES ?? '.'
const sidebar = JSON.parse(process.env.SITE_SIDEBAR ?? '[]') as DefaultTheme.SidebarItem[]

/** Class of a table's cell that gets room for some words in a line. */
const roomFor = ({ length }: string): 'words' | 'sentences' | undefined =>
  length > 80 ? 'sentences' : length > 24 ? 'words' : undefined

export default defineConfig({
  srcDir,
  base: basePath,
  lang: 'en',
  title: 'Matte',
  description: 'Documentation of Matte, a self-hosted service that removes the background from images.',
  cleanUrls: true,
  // The library would switch transitions off with a style in the page, which the policy of the API forbids.
  appearance: { disableTransition: false },
  // In a file: the policy of the API allows no inline script.
  metaChunk: true,
  head: [['link', { rel: 'icon', href: `${basePath}icon.svg`, type: 'image/svg+xml' }]],
  markdown: {
    html: false,
    linkify: false,
    anchor: { slugify: slugOf },
    // Sentences end in `{request_id, data}`, so `{` alone opens no attributes.
    attrs: { leftDelimiter: '{:' },
    highlight,
    config: (markdown) => {
      const { fence, image, link_open: link, text } = markdown.renderer.rules
      markdown.renderer.rules.fence = (tokens, index, ...rest) => {
        const { info = '', content = '' } = tokens[index] ?? {}
        return info.trim() === 'mermaid' ? drawDiagram(content) : (fence?.(tokens, index, ...rest) ?? '')
      }
      // Pictures keep their names, which the Markdown of the page has too.
      markdown.renderer.rules.image = (tokens, index, ...rest) => {
        const source = String(tokens[index]?.attrGet('src'))
        tokens[index]?.attrSet('src', source.replace(/^(\.\.?\/)+pictures\//, '/pictures/'))
        return image?.(tokens, index, ...rest) ?? ''
      }
      // Links to pages are relative. Others lead to the service, outside the site.
      markdown.renderer.rules.link_open = (tokens, index, ...rest) => {
        if (String(tokens[index]?.attrGet('href')).startsWith('/')) tokens[index]?.attrSet('target', '_self')
        return link?.(tokens, index, ...rest) ?? ''
      }
      markdown.renderer.rules.td_open = (tokens, index, options, _env, renderer) => {
        const room = roomFor(tokens[index + 1]?.content ?? '')
        if (room !== undefined) tokens[index]?.attrJoin('class', room)
        return renderer.renderToken(tokens, index, options)
      }
      // Vue would evaluate it.
      markdown.renderer.rules.text = (...args) => (text?.(...args) ?? '').replaceAll('{{', '&#123;&#123;')
    },
  },
  // The policy of the API forbids style attributes: style.css has the one, and the client sets the other.
  transformHtml: (html) => html.replaceAll(/ style="(position:relative|--vp-vh:0px);"/g, ''),
  vite: { logLevel: 'error', plugins: [listPackages(), makeAccessible()] },
  themeConfig: {
    logo: '/icon.svg',
    sidebar,
    outline: { level: [2, 3] },
    search: { provider: 'local', options: { detailedView: false } },
    nav: [
      { text: 'API', link: '/api', activeMatch: '/api(/|$)' },
      { text: 'Errors', link: '/errors', activeMatch: '/errors(/|$)' },
      { text: 'Operations', link: '/operations', activeMatch: '/operations(/|$)' },
    ],
    notFound: {
      title: 'Page not found',
      quote: 'The documentation has no such page. Search for it, or start at the overview.',
      linkText: 'Overview',
    },
  },
})
