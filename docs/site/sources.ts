// Markdown files of the repository that become pages, with their paths on the site.
import { globSync } from 'node:fs'

/** Files outside docs/. */
const outside: Readonly<Record<string, string>> = {
  'README.md': '',
  'local/README.md': 'local',
  'charts/matte/README.md': 'chart',
  'clients/README.md': 'clients',
  'clients/typescript/README.md': 'clients/typescript',
  'clients/python/README.md': 'clients/python',
  'clients/cli/README.md': 'clients/cli',
  'ARCHITECTURE.md': 'architecture',
  'DECISIONS.md': 'decisions',
  'CHANGELOG.md': 'changelog',
  'CONTRIBUTING.md': 'contributing',
  'models/u2netp/README.md': 'models/u2netp',
}

/** Titles of pages whose document has the name of a package. */
export const titles: Readonly<Record<string, string>> = {
  'clients/typescript': 'TypeScript client',
  'clients/python': 'Python client',
  'clients/cli': 'Command line',
  chart: 'The chart',
}

/** Documents about the tests and single packages, for contributors. They are named and not linked. */
export const isOutside = (file: string): boolean => /^(api|clients\/conformance|protos|test)\//.test(file)

/** Every Markdown file of docs/ and its folders is a page. Paths on the site by file. */
export function listSources(root: string): ReadonlyMap<string, string> {
  const options = { cwd: root, exclude: ['docs/site/**', '**/node_modules/**'] }
  const docs = globSync('docs/**/*.md', options).map((file) => [file, pathIn('docs/', file)] as const)
  const runbooks = globSync('charts/matte/runbooks/*.md', options).map(
    (file) => [file, pathIn('charts/matte/', file)] as const,
  )
  return new Map([...Object.entries(outside), ...docs.sort(), ...runbooks.sort()])
}

const pathIn = (folder: string, file: string): string => file.slice(folder.length).replace(/(\/README)?\.md$/, '')
