// The part of Mermaid's flowcharts and state diagrams that the documents use. Other lines fail the build.

export type Shape = 'box' | 'round' | 'store' | 'queue' | 'start'
export type Node = { readonly id: string; readonly label: string; readonly shape: Shape }
export type Edge = { readonly from: string; readonly to: string; readonly label: string; readonly dashed: boolean }
export type Diagram = {
  readonly direction: 'LR' | 'TB'
  readonly nodes: readonly Node[]
  readonly edges: readonly Edge[]
}

const shapes: readonly (readonly [pattern: RegExp, shape: Shape])[] = [
  [/^\(\[(.+)\]\)$/, 'round'],
  [/^\[\((.+)\)\]$/, 'store'],
  [/^\[\[(.+)\]\]$/, 'queue'],
  [/^\[(.+)\]$/, 'box'],
]

/** @throws Error naming the line that is not understood */
export function parseDiagram(source: string): Diagram {
  const [head = '', ...lines] = source
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  if (head.startsWith('flowchart ')) return parseFlowchart(head.endsWith('LR') ? 'LR' : 'TB', lines)
  if (head === 'stateDiagram-v2') return parseStates(lines)
  throw new Error(`the diagram "${head}" is neither a flowchart nor a state diagram`)
}

function parseFlowchart(direction: Diagram['direction'], lines: readonly string[]): Diagram {
  const nodes = new Map<string, Node>()
  const edges = lines.flatMap((line) => {
    const parts = /^(.+?) (?:-->(?:\|(.+?)\|)?|-\. (.+?) \.->) (.+)$/.exec(line)
    if (parts === null) throw new Error(`the line "${line}" of a flowchart is not understood`)
    const [, left = '', label, dashedLabel, right = ''] = parts
    const ends = (text: string) => text.split(' & ').map((end) => readNode(nodes, end))
    const dashed = dashedLabel !== undefined
    return ends(left).flatMap((from) =>
      ends(right).map((to) => ({ from, to, label: label ?? dashedLabel ?? '', dashed })),
    )
  })
  return { direction, nodes: [...nodes.values()], edges }
}

function readNode(nodes: Map<string, Node>, text: string): string {
  const [, id = '', written = ''] = /^(\w+)(.*)$/.exec(text.trim()) ?? []
  const shape = shapes.find(([pattern]) => pattern.test(written))
  if (shape !== undefined) nodes.set(id, { id, label: shape[0].exec(written)?.[1] ?? id, shape: shape[1] })
  else if (!nodes.has(id)) nodes.set(id, { id, label: id, shape: 'box' })
  return id
}

function parseStates(lines: readonly string[]): Diagram {
  const nodes = new Map<string, Node>()
  const edges = lines.map((line) => {
    const [, from = '', to = '', label = ''] = /^(\S+) --> (\w+): (.+)$/.exec(line) ?? []
    if (to === '') throw new Error(`the line "${line}" of a state diagram is not understood`)
    for (const id of [from, to]) {
      const isStart = id === '[*]'
      nodes.set(id, { id, label: isStart ? '' : id, shape: isStart ? 'start' : 'round' })
    }
    return { from, to, label, dashed: false }
  })
  return { direction: 'TB', nodes: [...nodes.values()], edges }
}
