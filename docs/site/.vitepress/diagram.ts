import { renderMermaidSVG } from 'beautiful-mermaid'

/** The drawing of a Mermaid source. Its colours are in style.css: the policy of the API forbids styles in the page. */
export function drawDiagram(source: string): string {
  const svg = renderMermaidSVG(source, { padding: 8, nodeSpacing: 16, layerSpacing: 24 })
    .replace(/<style>[\s\S]*?<\/style>/, '')
    .replace(/(<svg[^>]*?) style="[^"]*"/, '$1')
  return `<figure v-pre class="diagram" tabindex="0" role="img" aria-label="${describe(svg)}">${svg}</figure>\n`
}

/** The connections as text, for those who do not see the drawing. */
function describe(svg: string): string {
  const tags = (name: string) => svg.match(new RegExp(`<\\w+ class="${name}"[^>]*>`, 'g')) ?? []
  const read = (tag: string, name: string) => new RegExp(` data-${name}="([^"]*)"`).exec(tag)?.[1] ?? ''
  const labels = new Map(tags('node').map((tag) => [read(tag, 'id'), read(tag, 'label')]))
  const ends = (tag: string) => ['from', 'to'].map((end) => labels.get(read(tag, end)) || read(tag, end)).join(' to ')
  return tags('edge')
    .map((tag) => [ends(tag), read(tag, 'label')].filter(Boolean).join(': '))
    .join('; ')
}
