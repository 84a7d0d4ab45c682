import { describe, expect, it } from 'vitest'
import { type Resolve, renderMarkdown } from './render.ts'

const resolve: Resolve = {
  link: (target) => (target.endsWith('.ts') ? undefined : `/docs/${target}`),
  image: (target) => `/docs/assets/${target}`,
  name: (name) => (name === 'NOT_FOUND' ? '/docs/errors/NOT_FOUND' : undefined),
}
const html = (text: string): string => renderMarkdown(text, resolve).html

describe('renderMarkdown', () => {
  it('gives headings the anchors of GitHub, and numbers repeated ones', () => {
    const { headings, title } = renderMarkdown('# A title\n\n## The `code`, twice\n\n## The code, twice\n', resolve)
    expect(title).toBe('A title')
    expect(headings.map(({ id }) => id)).toEqual(['the-code-twice', 'the-code-twice-1'])
  })

  it('links to pages, and names files without a page', () => {
    expect(html('[a](b.md#c)')).toContain('<a href="/docs/b.md#c">a</a>')
    expect(html('[a](x/y.ts)')).toBe('<p><span class="file" title="x/y.ts in the repository">a</span></p>\n')
  })

  it('links names in code, but not inside another link', () => {
    expect(html('`NOT_FOUND`')).toContain('<a href="/docs/errors/NOT_FOUND"><code>NOT_FOUND</code></a>')
    expect(html('[see `NOT_FOUND`](a.md)')).toBe('<p><a href="/docs/a.md">see <code>NOT_FOUND</code></a></p>\n')
  })

  it('shows HTML as text', () => {
    expect(html('a <script>alert(1)</script> <b>b</b>')).not.toMatch(/<script|<b>/)
  })

  it('colours code by classes', () => {
    expect(html('```json\n{"a": 1}\n```')).toContain('<span class="hljs-number">1</span>')
    expect(html('```promql\nmax(a{b="<c>"})\n```')).toContain('max(a{b=&quot;&lt;c&gt;&quot;})')
  })

  it('refuses a diagram that it cannot draw', () => {
    expect(() => html('```mermaid\nsequenceDiagram\n  a ->> b: hi\n```')).toThrow('neither a flowchart nor')
    expect(() => html('```mermaid\nflowchart LR\n  a ==> b\n```')).toThrow('"a ==> b"')
  })
})
