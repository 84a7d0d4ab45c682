// Markdown files of the repository that become pages, with their paths on the site.
import { readdirSync } from 'node:fs'
import { join, posix } from 'node:path'
import type { Group } from './page.ts'

export type SourcePage = {
  /** Path from the root of the repository. */
  readonly file: string
  readonly path: string
  readonly group: Group
  readonly label?: string
  /** Replaces a heading that several documents share. */
  readonly title?: string
}

const guides = [
  'glossary',
  'contract',
  'app',
  'webhooks',
  'listen',
  'doors',
  'leaving-remove-bg',
  'payments',
  'models',
  'quality',
]
const pools = [
  'tritonpool',
  'tritonpool-reference',
  'tritonpool-versions',
  'autoscaling',
  'external-scalers',
  'team-namespaces',
  'operator',
  'operator-proof',
]

const single: readonly SourcePage[] = [
  { file: 'README.md', path: '', group: 'Start', label: 'Overview' },
  { file: 'local/README.md', path: 'local', group: 'Start', label: 'On one machine' },
  { file: 'charts/matte/README.md', path: 'chart', group: 'Start', label: 'On Kubernetes' },
  { file: 'clients/README.md', path: 'clients', group: 'Clients', label: 'Overview' },
  {
    file: 'clients/typescript/README.md',
    path: 'clients/typescript',
    group: 'Clients',
    label: 'TypeScript',
    title: 'TypeScript client',
  },
  {
    file: 'clients/python/README.md',
    path: 'clients/python',
    group: 'Clients',
    label: 'Python',
    title: 'Python client',
  },
  {
    file: 'clients/cli/README.md',
    path: 'clients/cli',
    group: 'Clients',
    label: 'Command line',
    title: 'Command line',
  },
  { file: 'docs/events.md', path: 'events', group: 'Webhook events', label: 'All events' },
  { file: 'docs/operations/README.md', path: 'operations', group: 'Operations', label: 'Overview' },
  { file: 'docs/dashboards/README.md', path: 'dashboards', group: 'Operations' },
  { file: 'ARCHITECTURE.md', path: 'architecture', group: 'Project' },
  { file: 'DECISIONS.md', path: 'decisions', group: 'Project' },
  { file: 'CHANGELOG.md', path: 'changelog', group: 'Project' },
  { file: 'CONTRIBUTING.md', path: 'contributing', group: 'Project' },
  { file: 'models/u2netp/README.md', path: 'models/u2netp', group: 'Project' },
]

/** Documents about the tests and single packages, for contributors. They are named and not linked. */
export const isOutside = (file: string): boolean => /^(api|clients\/conformance|protos|test)\//.test(file)

const markdownIn = (root: string, folder: string): string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `${folder}/${name}`)

/** Every file of docs/ and its folders is a page. A new file of docs/ joins the group Operations. */
export function listSourcePages(root: string): readonly SourcePage[] {
  const known = new Set(single.map(({ file }) => file))
  const found = ['docs', 'docs/operations', 'docs/dashboards'].flatMap((folder) => markdownIn(root, folder))
  const pages = found.filter((file) => !known.has(file)).map((file) => toPage(file))
  const runbooks = markdownIn(root, 'charts/matte/runbooks').map((file) => {
    const name = posix.basename(file, '.md')
    return { file, path: `runbooks/${name}`, group: 'Runbooks', label: name } as const
  })
  return [...single, ...pages.sort(byListing), ...runbooks]
}

function toPage(file: string): SourcePage {
  const path = file.replace(/^docs\//, '').replace(/\.md$/, '')
  const group = guides.includes(path) ? 'Guides' : pools.includes(path) ? 'Triton pools' : 'Operations'
  return { file, path, group }
}

const listed = [...guides, ...pools]
const byListing = (a: SourcePage, b: SourcePage): number => listed.indexOf(a.path) - listed.indexOf(b.path)
