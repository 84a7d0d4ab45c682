// Draws a diagram as SVG while the site is built: no browser, no script on the page. Colours come from the stylesheet.
import { Graph, layout } from '@dagrejs/dagre'
import { escapeHtml } from '../html.ts'
import { type Diagram, type Edge, type Node, parseDiagram } from './parse.ts'

type Point = { readonly x: number; readonly y: number }
type Box = Point & { readonly width: number; readonly height: number }

/** Average width of a character at the font sizes of the stylesheet, in pixels. */
const nodeCharWidth = 7.6
const labelCharWidth = 6.4
const labelLineHeight = 15
const labelLineMax = 22

/** @throws Error when the source is not understood */
export function drawDiagram(source: string): string {
  const diagram = parseDiagram(source)
  const graph = layOutToFit(diagram)
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number }
  const edges = diagram.edges.map((edge, at) => {
    const laidOut = graph.edge(edge.from, edge.to, String(at)) as EdgeLayout
    return drawEdge(edge, laidOut, edge.from === edge.to ? loopAt(graph.node(edge.from) as Box, laidOut) : undefined)
  })
  const nodes = diagram.nodes.map((node) => drawNode(node, graph.node(node.id) as Box))
  return `<figure class="diagram" tabindex="0"><svg viewBox="0 0 ${Math.ceil(width)} ${Math.ceil(height)}" \
width="${Math.ceil(width)}" height="${Math.ceil(height)}" role="img" aria-label="${escapeHtml(describe(diagram))}">
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">\
<path d="M0 0L8 4L0 8z"/></marker></defs>
${edges.join('\n')}
${nodes.join('\n')}
</svg></figure>\n`
}

/** Width of the text column of the stylesheet. */
const widthMax = 780

/** A flowchart that is too wide from left to right goes from top to bottom. */
function layOutToFit(diagram: Diagram): Graph {
  const graph = layOut(diagram)
  const { width = 0 } = graph.graph() as { width?: number }
  return width <= widthMax ? graph : layOut({ ...diagram, direction: 'TB' })
}

function layOut({ direction, nodes, edges }: Diagram): Graph {
  const graph = new Graph({ multigraph: true })
  graph.setGraph({ rankdir: direction, nodesep: 18, ranksep: 46, edgesep: 18, marginx: 12, marginy: 12 })
  for (const { id, label, shape } of nodes) {
    const size =
      shape === 'start' ? { width: 14, height: 14 } : { width: label.length * nodeCharWidth + 30, height: 38 }
    graph.setNode(id, size)
  }
  edges.forEach(({ from, to, label }, at) => {
    const lines = linesOf(label)
    const width = Math.max(...lines.map((line) => line.length)) * labelCharWidth + 10
    graph.setEdge(from, to, { width, height: lines.length * labelLineHeight + 4, labelpos: 'c' }, String(at))
  })
  layout(graph)
  return graph
}

/** The diagram in words, for readers who do not see it. */
const describe = ({ nodes, edges }: Diagram): string => {
  const label = (id: string) => nodes.find((node) => node.id === id)?.label || 'start'
  return `Diagram. ${edges.map((edge) => `${label(edge.from)} to ${label(edge.to)}: ${edge.label}`).join('; ')}.`
}

function linesOf(label: string): string[] {
  const lines = ['']
  for (const word of label.split(' ')) {
    const last = lines.at(-1) ?? ''
    if (last !== '' && last.length + word.length >= labelLineMax) lines.push(word)
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
  }
  return lines
}

const round = (value: number): number => Math.round(value * 10) / 10

function drawNode({ label, shape }: Node, { x, y, width, height }: Box): string {
  if (shape === 'start') return `<circle class="start" cx="${round(x)}" cy="${round(y)}" r="6"/>`
  const [left, top] = [round(x - width / 2), round(y - height / 2)]
  const radius = shape === 'round' ? height / 2 : shape === 'store' ? 10 : 5
  return `<g class="node ${shape}"><rect x="${left}" y="${top}" width="${round(width)}" height="${height}" rx="${radius}"/>\
<text x="${round(x)}" y="${round(y + 5)}">${escapeHtml(label)}</text></g>`
}

type EdgeLayout = Point & { readonly points: readonly Point[] }

function drawEdge({ label, dashed }: Edge, { points, x, y }: EdgeLayout, loop?: string): string {
  const path = `<path class="edge${dashed ? ' dashed' : ''}" d="${loop ?? curveThrough(points)}" marker-end="url(#arrow)"/>`
  const lines = linesOf(label)
  const top = y - (lines.length * labelLineHeight) / 2 + 11
  const spans = lines.map((line, at) => {
    const height = round(top + at * labelLineHeight)
    return `<tspan x="${round(x)}" y="${height}">${escapeHtml(line)}</tspan>`
  })
  return `<g>${path}<text class="label">${spans.join('')}</text></g>`
}

/** An edge from a node to itself, on its right side. */
function loopAt({ x, y, width }: Box, label: Point): string {
  const right = round(x + width / 2)
  const out = round(label.x)
  return `M${right} ${round(y - 8)}C${out} ${round(y - 42)} ${out} ${round(y + 42)} ${right} ${round(y + 8)}`
}

/** A line through the points with rounded corners. */
function curveThrough(points: readonly Point[]): string {
  const at = ({ x, y }: Point) => `${round(x)} ${round(y)}`
  const [first = { x: 0, y: 0 }] = points
  const last = points.at(-1) ?? first
  const inner = points.slice(1, -1)
  const corners = inner.map((point, index) => {
    const next = inner[index + 1]
    const end = next ? { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 } : last
    return `Q${at(point)} ${at(end)}`
  })
  return `M${at(first)}${corners.join('') || `L${at(last)}`}`
}
