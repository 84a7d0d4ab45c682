import { parseSources, type SourceFile } from './read-sources.ts'
import { type ImportEdge, resolveImports, type Workspace } from './resolve-imports.ts'

/** Two packages: `@t/core` in `core`, `@t/app` in `app`, both with their sources in `src`. */
export const workspaces: readonly Workspace[] = ['core', 'app'].map((folder) => ({
  name: `@t/${folder}`,
  folder,
  exports: { './*': 'src/*.ts' },
}))

/** The files of these texts and the imports between them. */
export function house(texts: Readonly<Record<string, string>>): { files: SourceFile[]; edges: ImportEdge[] } {
  const files = parseSources(texts)
  return { files, edges: resolveImports(files, workspaces) }
}

export const importing = (...specifiers: readonly string[]): string =>
  specifiers.map((specifier) => `import { x } from '${specifier}'\n`).join('')
