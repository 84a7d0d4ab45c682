// Conversion of a panel to Grafana's JSON.
import {
  BarGaugeDisplayMode,
  BarGaugeNamePlacement,
  BarGaugeSizing,
  BarGaugeValueMode,
  BigValueColorMode,
  BigValueGraphMode,
  BigValueJustifyMode,
  BigValueTextMode,
  type DashboardLink,
  type DataSourceRef,
  FieldColorModeId,
  type FieldConfig,
  type Panel as GrafanaPanel,
  type GraphFieldConfig,
  GraphThresholdsStyleMode,
  LegendDisplayMode,
  PercentChangeColorMode,
  SortOrder,
  StackingMode,
  type ThresholdsConfig,
  ThresholdsMode,
  TooltipDisplayMode,
  VisibilityMode,
  VizOrientation,
} from '@grafana/schema'
import type * as Bars from '@grafana/schema/dist/esm/raw/composable/bargauge/panelcfg/x/BarGaugePanelCfg_types.gen'
import type * as Stat from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen'
import type * as Lines from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen'
import type { Panel, Query } from './panel.ts'
import { scope } from './variables.ts'

// biome-ignore lint/suspicious/noTemplateCurlyInString: a Grafana variable.
export const datasource: DataSourceRef = { type: 'prometheus', uid: '${datasource}' }

export function toPanel(panel: Panel): Omit<GrafanaPanel, 'id' | 'gridPos'> {
  const { title, sentence, kind, queries, runbooks = [] } = panel
  const isCurve = kind === 'lines' || kind === 'stack'
  return {
    type: isCurve ? 'timeseries' : kind === 'stat' ? 'stat' : 'bargauge',
    title,
    description: sentence,
    links: runbooks.map((alert) => ({ ...runbookLink, title: `Runbook ${alert}`, url: `RUNBOOKS/${alert}.md` })),
    datasource,
    targets: queries.map((query, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource,
      editorMode: 'code',
      expr: toExpression(query),
      legendFormat: query.legend,
      instant: !isCurve,
      range: isCurve,
    })),
    fieldConfig: { defaults: isCurve ? curveFields(panel) : valueFields(panel), overrides: [] },
    options: isCurve ? { ...curveOptions } : { ...(kind === 'stat' ? statOptions : barOptions) },
  }
}

/** The chart replaces `RUNBOOKS` by the base URL of the runbooks. */
const runbookLink: Omit<DashboardLink, 'title'> = {
  type: 'link',
  icon: 'doc',
  tags: [],
  asDropdown: false,
  includeVars: false,
  keepTime: false,
  targetBlank: true,
  tooltip: '',
}

/** The query, restricted to the selected namespace and release. Grafana replaces names that start with a dollar. */
export const toExpression = ({ expr }: Query): string =>
  expr
    .replaceAll(/(\w)\{(\}?)/g, (_all, name: string, end: string) => `${name}{${scope}${end === '' ? ', ' : end}`)
    .replaceAll('[RATE]', '[$__rate_interval]')
    .replaceAll('[RANGE', '[$__range')

const toThresholds = ({ thresholds = [] }: Panel): ThresholdsConfig => ({
  mode: ThresholdsMode.Absolute,
  // Grafana writes null for -Infinity, although its types require a number.
  steps: [{ from: Number.NEGATIVE_INFINITY, color: 'green' as const }, ...thresholds]
    .filter(({ from }, index, all) => from !== all[index + 1]?.from)
    .map(({ from, color }) => ({ value: from, color })),
})

const curveFields = (panel: Panel): FieldConfig => ({
  unit: panel.unit,
  min: 0,
  color: { mode: FieldColorModeId.PaletteClassicByName },
  thresholds: toThresholds(panel),
  custom: {
    lineWidth: 1,
    fillOpacity: panel.kind === 'stack' ? 40 : 5,
    showPoints: VisibilityMode.Never,
    stacking: { mode: panel.kind === 'stack' ? StackingMode.Normal : StackingMode.None, group: 'A' },
    thresholdsStyle: {
      mode: panel.thresholds === undefined ? GraphThresholdsStyleMode.Off : GraphThresholdsStyleMode.Dashed,
    },
  } satisfies GraphFieldConfig,
})

const valueFields = (panel: Panel): FieldConfig => ({
  unit: panel.unit,
  ...(panel.unit === 'none' && { decimals: 0 }),
  color: {
    mode: panel.thresholds === undefined ? FieldColorModeId.PaletteClassicByName : FieldColorModeId.Thresholds,
  },
  thresholds: toThresholds(panel),
  noValue: 'none',
})

const curveOptions: Lines.Options = {
  legend: { displayMode: LegendDisplayMode.List, placement: 'bottom', showLegend: true, calcs: [] },
  tooltip: { mode: TooltipDisplayMode.Multi, sort: SortOrder.Descending },
}

const reduceOptions = { calcs: ['lastNotNull'], fields: '', values: false }

const statOptions: Stat.Options = {
  reduceOptions,
  orientation: VizOrientation.Auto,
  colorMode: BigValueColorMode.Value,
  graphMode: BigValueGraphMode.None,
  justifyMode: BigValueJustifyMode.Auto,
  textMode: BigValueTextMode.ValueAndName,
  percentChangeColorMode: PercentChangeColorMode.Standard,
  showPercentChange: false,
  wideLayout: true,
}

const barOptions: Bars.Options = {
  reduceOptions,
  orientation: VizOrientation.Horizontal,
  displayMode: BarGaugeDisplayMode.Basic,
  valueMode: BarGaugeValueMode.Text,
  namePlacement: BarGaugeNamePlacement.Left,
  sizing: BarGaugeSizing.Auto,
  showUnfilled: true,
  minVizHeight: 16,
  minVizWidth: 8,
  maxVizHeight: 32,
  legend: { displayMode: LegendDisplayMode.List, placement: 'bottom', showLegend: false, calcs: [] },
}
