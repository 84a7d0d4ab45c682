// The groups of the sidebar. Each page is in one group, except those that an index page lists: error codes, events and
// runbooks. A new page needs a line here.

type Group = { readonly text: string; readonly pages: readonly string[] }

/** More links in one group are no longer read. */
const groupMax = 9

/** Groups that are open on every page. */
const openGroups = 2

const groups: readonly Group[] = [
  {
    text: 'Start',
    pages: ['', 'local', 'chart', 'console', 'what-we-keep', 'clients', 'doors', 'leaving-remove-bg', 'glossary'],
  },
  {
    text: 'Build with it',
    pages: [
      'clients/typescript',
      'clients/python',
      'clients/cli',
      'webhooks',
      'listen',
      'app',
      'contract',
      'errors',
      'events',
    ],
  },
  {
    text: 'API reference',
    pages: [
      'api',
      'api/uploads',
      'api/tasks',
      'api/batches',
      'api/webhooks',
      'api/api-keys',
      'api/usage',
      'api/deprecated',
    ],
  },
  {
    text: 'API of the console',
    pages: [
      ...['api/images', 'api/developer-centre', 'api/teams', 'api/account', 'api/sign-in', 'api/two-factor-login'],
      'api/notifications',
    ],
  },
  { text: 'API of money and operation', pages: ['api/credits', 'api/payments', 'api/referral', 'api/operator'] },
  { text: 'Cut-outs', pages: ['quality', 'shadows', 'performance', 'models', 'models/u2netp'] },
  {
    text: 'Set it up',
    pages: [
      ...['operations', 'operations/images', 'operations/sizing', 'operations/tls', 'operations/stores'],
      ...['operations/pooler', 'operations/nats', 'operations/roles', 'operations/gitops'],
    ],
  },
  {
    text: 'Keep it running',
    pages: [
      ...['operations/upgrade', 'operations/two-releases', 'operations/upgrade-postgres', 'operations/scale'],
      ...['operations/rollouts', 'operations/rotate', 'operations/backup', 'operations/move', 'operations/uninstall'],
    ],
  },
  {
    text: 'When something fails',
    pages: [
      ...['runbooks', 'metrics', 'dashboards', 'operations/outages', 'operations/failover', 'operations/lose-a-node'],
      ...['operations/lose-the-database', 'reliability'],
    ],
  },
  {
    text: 'People and money',
    pages: ['operations/people', 'operations/identity', 'operations/console', 'operations/audit', 'payments'],
  },
  {
    text: 'Triton pools',
    pages: [
      ...['tritonpool', 'tritonpool-reference', 'tritonpool-versions', 'autoscaling', 'external-scalers'],
      ...['team-namespaces', 'operator', 'operator-proof'],
    ],
  },
  {
    text: 'Judge it',
    pages: ['architecture', 'security', 'scale', 'footprint', 'decisions', 'changelog', 'contributing'],
  },
]

/** Titles in the sidebar where the page's own is too long or says too little there. */
const labels: Readonly<Record<string, string>> = {
  '': 'Overview',
  local: 'On one machine',
  chart: 'On Kubernetes',
  clients: 'Clients',
  api: 'Overview',
  operations: 'Overview',
  errors: 'Error codes',
  events: 'Webhook events',
}

/** Pages that an index page lists, and the sidebar does not. */
const isListedElsewhere = (path: string): boolean => /^(errors|events|runbooks)\//.test(path)

export type SidebarGroup = {
  readonly text: string
  /** Closed until the reader opens it, or one of its pages. */
  readonly collapsed: boolean
  readonly items: readonly { readonly text: string; readonly link: string }[]
}

/**
 * @param titles title of each page by its path
 * @throws Error naming each page without a group, each name without a page and each group that is too long
 */
export function buildSidebar(titles: ReadonlyMap<string, string>): SidebarGroup[] {
  const listed = groups.flatMap(({ pages }) => pages)
  const here = 'docs/site/sidebar.ts'
  const problems = [
    ...[...titles.keys()]
      .filter((path) => !isListedElsewhere(path) && !listed.includes(path))
      .map((path) => `the page ${path} is in no group: add '${path}' to one in ${here}`),
    ...listed.filter((path) => !titles.has(path)).map((path) => `${here} lists ${path}, which is no page: remove it`),
    ...listed.filter((path, at) => listed.indexOf(path) !== at).map((path) => `${here} lists ${path} twice`),
    ...groups
      .filter(({ pages }) => pages.length > groupMax)
      .map(
        ({ text, pages }) =>
          `the group ${text} in ${here} has ${pages.length} pages, and at most ${groupMax} fit: split it`,
      ),
  ]
  if (problems.length > 0) throw new Error(`The sidebar is incomplete:\n${problems.join('\n')}`)
  return groups.map(({ text, pages }, at) => ({
    text,
    collapsed: at >= openGroups,
    items: pages.map((path) => ({ text: labels[path] ?? titles.get(path) ?? path, link: `/${path}` })),
  }))
}
