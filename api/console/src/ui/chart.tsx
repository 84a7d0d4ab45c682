// Small charts as SVG, each with a table of its numbers behind it.
import type { ReactNode } from 'react'
import { useText } from '../text/text.ts'
import styles from './chart.module.css'
import { Table } from './table.tsx'
import { uiText } from './ui-text.ts'

export type Series = {
  readonly name: string
  /** One value per label; null where there is none. */
  readonly values: readonly (number | null)[]
  readonly tone?: 'accent' | 'good' | 'bad' | 'soft'
}

type ChartProps = {
  readonly title: string
  readonly labels: readonly string[]
  readonly series: readonly Series[]
  readonly format: (value: number) => string
  readonly kind?: 'bars' | 'lines'
}

const [width, height] = [640, 160]
const tones = ['accent', 'good', 'bad', 'soft'] as const

/** Bars of one or more series on top of each other, or lines. */
export function Chart({ title, labels, series, format, kind = 'bars' }: ChartProps) {
  const text = useText(uiText)
  const totals = labels.map((_, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0))
  const largest = kind === 'bars' ? totals : series.flatMap(({ values }) => values.map((value) => value ?? 0))
  const top = niceTop(Math.max(0, ...largest))
  const toned = series.map((one, index) => ({ ...one, tone: one.tone ?? tones[index % tones.length] ?? 'accent' }))
  const rows = labels.map((label, at) => ({ label, values: series.map(({ values }) => values[at] ?? null) }))
  const columns = [
    { name: title, cell: (row: (typeof rows)[number]): ReactNode => row.label },
    ...series.map(({ name }, index) => ({
      name,
      isNumber: true,
      cell: (row: (typeof rows)[number]): ReactNode => {
        const value = row.values[index] ?? null
        return value === null ? '–' : format(value)
      },
    })),
  ]
  return (
    <figure className={styles.figure}>
      <figcaption className={styles.caption}>
        <span>{title}</span>
        {series.length > 1 && (
          <span className={styles.legend}>
            {toned.map(({ name, tone }) => (
              <span key={name} className={styles[tone]}>
                {name}
              </span>
            ))}
          </span>
        )}
      </figcaption>
      <div className={styles.plot}>
        <span className={styles.top}>{format(top)}</span>
        <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={title}>
          <line x1="0" x2={width} y1="0.5" y2="0.5" className={styles.grid} />
          <line x1="0" x2={width} y1={height / 2} y2={height / 2} className={styles.grid} />
          {kind === 'bars' ? <Bars labels={labels} series={toned} top={top} /> : <Lines series={toned} top={top} />}
          <line x1="0" x2={width} y1={height - 0.5} y2={height - 0.5} className={styles.axis} />
        </svg>
        <div className={styles.ends}>
          <span>{labels[0]}</span>
          <span>{labels.at(-1)}</span>
        </div>
      </div>
      <details className={styles.details}>
        <summary>{text.dataTable}</summary>
        <Table label={title} columns={columns} rows={rows} keyOf={({ label }) => label} />
      </details>
    </figure>
  )
}

type Toned = Series & { readonly tone: (typeof tones)[number] }

function Bars({ labels, series, top }: { labels: readonly string[]; series: readonly Toned[]; top: number }) {
  const step = width / Math.max(1, labels.length)
  return labels.map((label, at) => {
    let base = height
    return (
      <g key={label}>
        {series.map(({ name, values, tone }) => {
          const barHeight = ((values[at] ?? 0) / top) * height
          base -= barHeight
          const x = at * step + step * 0.12
          return <rect key={name} x={x} y={base} width={step * 0.76} height={barHeight} className={styles[tone]} />
        })}
      </g>
    )
  })
}

function Lines({ series, top }: { series: readonly Toned[]; top: number }) {
  return series.map(({ name, values, tone }) => {
    const step = width / Math.max(1, values.length - 1)
    let isOpen = false
    const path = values.map((value, at) => {
      if (value === null) {
        isOpen = false
        return ''
      }
      const point = `${(at * step).toFixed(1)} ${(height - (value / top) * height).toFixed(1)}`
      // A point without neighbours shows as a dot.
      const drawn = isOpen ? `L${point}` : `M${point}h0`
      isOpen = true
      return drawn
    })
    return <path key={name} d={path.join('')} className={`${styles.line} ${styles[tone]}`} />
  })
}

/** 1, 2 or 5 times a power of ten, at or above the value. */
export function niceTop(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power
}
