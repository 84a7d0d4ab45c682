// Variables at the top of a dashboard.
import type { DashboardLink, DataSourceRef, VariableModel } from '@grafana/schema'

/**
 * Added to every selector. The chart's monitors set `job` to the release's name; other configurations may not. `All`
 * also matches series without a namespace.
 */
export const scope = 'namespace=~"$namespace", job=~"$release"'

const every = 'matte_build_info'

export const variables = (datasource: DataSourceRef): VariableModel[] => [
  {
    name: 'datasource',
    label: 'Prometheus',
    type: 'datasource',
    query: 'prometheus',
    refresh: 1,
    includeAll: false,
    multi: false,
    options: [],
  },
  choice(datasource, { name: 'namespace', label: 'Namespace', query: `label_values(${every}, namespace)` }),
  choice(datasource, {
    name: 'release',
    label: 'Release',
    query: `label_values(${every}{namespace=~"$namespace"}, job)`,
  }),
]

type Choice = { readonly name: string; readonly label: string; readonly query: string }

const choice = (datasource: DataSourceRef, { name, label, query }: Choice): VariableModel => ({
  name,
  label,
  type: 'query',
  datasource,
  query: { query, refId: `Variable-${name}` },
  refresh: 2,
  sort: 1,
  includeAll: true,
  allValue: '.*',
  multi: false,
  current: { text: 'All', value: '$__all' },
  options: [],
})

export const otherDashboards: DashboardLink = {
  type: 'dashboards',
  title: 'Matte',
  tags: ['matte'],
  asDropdown: false,
  includeVars: true,
  keepTime: true,
  icon: 'external link',
  targetBlank: false,
  tooltip: '',
  url: '',
}
