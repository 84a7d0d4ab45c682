import { Document, isScalar, parse, visit } from 'yaml'

/** Sentences longer than this are folded; shorter ones stay on the line of their key. */
const lineWidth = 110

/** Plain YAML as people write it: no anchors, sentences as folded blocks. Of version 1.1, which is what kubectl reads. */
export function toYaml(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false, version: '1.1' })
  visit(document, {
    Pair(_, { key, value: node }) {
      const isSentence = isScalar(key) && ['description', 'message', 'rule', 'sentence'].includes(String(key.value))
      if (!isSentence || !isScalar(node) || typeof node.value !== 'string') return
      if (node.value.length > lineWidth / 2) node.type = 'BLOCK_FOLDED'
    },
  })
  // Whatever else is long, such as a pattern, must stay in one piece.
  return document.toString({ lineWidth })
}

/** The resources in the YAML blocks of a Markdown text, in their order. */
export const readYamlBlocks = (markdown: string): unknown[] =>
  [...markdown.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, yaml = '']) => parse(yaml))
