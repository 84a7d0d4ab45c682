import { parse } from 'yaml'

/** The resources in the YAML blocks of a Markdown text, in order. */
export const readYamlBlocks = (markdown: string): unknown[] =>
  [...markdown.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, yaml = '']) => parse(yaml))
