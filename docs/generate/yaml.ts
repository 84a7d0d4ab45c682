import { Document, isScalar, visit } from 'yaml'

/** Longer sentences are folded; shorter ones stay on the line of their key. */
const lineWidth = 110

/** YAML 1.1, as kubectl reads it, without anchors and with sentences as folded blocks. */
export function toYaml(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false, version: '1.1' })
  visit(document, {
    Pair(_, { key, value: node }) {
      const isSentence = isScalar(key) && ['description', 'message', 'rule', 'sentence'].includes(String(key.value))
      if (!isSentence || !isScalar(node) || typeof node.value !== 'string') return
      if (node.value.length > lineWidth / 2) node.type = 'BLOCK_FOLDED'
    },
  })
  // Other long strings, such as patterns, stay on one line.
  return document.toString({ lineWidth })
}
