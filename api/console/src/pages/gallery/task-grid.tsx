// The grid of tasks. Only rows near the window are in the page; the focused row stays, so the keyboard keeps its place.
import { useNavigate } from '@tanstack/react-router'
import { defaultRangeExtractor, type Range, useWindowVirtualizer } from '@tanstack/react-virtual'
import type { Task } from 'matte-client'
import { type KeyboardEvent, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useText } from '../../text/text.ts'
import styles from './gallery.module.css'
import { galleryText } from './gallery-text.ts'
import { extendTo, moveFocus, noSelection, type Selection, selectAll, toggle } from './selection.ts'
import { TaskTile } from './task-tile.tsx'

type GridProps = {
  readonly tasks: readonly Task[]
  readonly selection: Selection
  readonly onSelection: (selection: Selection) => void
  /** Called near the end of the list; undefined at the end. */
  readonly loadMore: (() => void) | undefined
}

const [gapPx, tileMinPx, tileMinNarrowPx] = [12, 184, 136]
const narrowPx = 560
/** Height of a tile below its picture, with state and time in one line or two; rows are measured when they are drawn. */
const captionPx = (tilePx: number): number => (tilePx <= 180 ? 92 : 70)
/** Below the header of the page, and above the bar of the selection. */
const [headerPx, barPx] = [76, 96]

export const columnsOf = (widthPx: number): number => {
  const min = widthPx < narrowPx ? tileMinNarrowPx : tileMinPx
  return Math.max(widthPx < 240 ? 1 : 2, Math.floor((widthPx + gapPx) / (min + gapPx)))
}

export function TaskGrid({ tasks, selection, onSelection, loadMore }: GridProps) {
  const text = useText(galleryText)
  const navigate = useNavigate()
  const grid = useRef<HTMLDivElement>(null)
  const { widthPx, topPx } = useBox(grid)
  const columns = columnsOf(widthPx)
  const rowCount = Math.ceil(tasks.length / columns)
  const [focused, setFocused] = useState(0)
  const focusedIndex = Math.min(focused, Math.max(0, tasks.length - 1))
  const focusedRow = Math.floor(focusedIndex / columns)
  const tilePx = (widthPx - gapPx * (columns - 1)) / columns
  const virtualizer = useWindowVirtualizer({
    count: rowCount,
    estimateSize: () => tilePx + captionPx(tilePx) + gapPx,
    overscan: 1,
    scrollMargin: topPx,
    scrollPaddingStart: headerPx,
    scrollPaddingEnd: barPx,
    rangeExtractor: useCallback((range: Range) => withRow(defaultRangeExtractor(range), focusedRow), [focusedRow]),
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows have another height now
  useLayoutEffect(() => virtualizer.measure(), [virtualizer, columns, Math.round(tilePx)])

  const rows = virtualizer.getVirtualItems()
  const lastRow = rows.reduce((last, { index }) => Math.max(last, index), 0)
  useEffect(() => {
    if (lastRow >= rowCount - 3) loadMore?.()
  }, [lastRow, rowCount, loadMore])

  const latest = useRef({ tasks, selection, onSelection })
  latest.current = { tasks, selection, onSelection }
  const select = useCallback((index: number, isRange: boolean): void => {
    const { tasks, selection, onSelection } = latest.current
    const id = tasks[index]?.id
    if (id === undefined) return
    setFocused(index)
    const order = tasks.map((task) => task.id)
    onSelection(isRange ? extendTo(selection, id, order) : toggle(selection, id))
  }, [])

  const focusAt = (index: number): void => {
    setFocused(index)
    virtualizer.scrollToIndex(Math.floor(index / columns), { align: 'auto' })
    // The row may come into the page with the next drawing only.
    requestAnimationFrame(() => cellAt(grid.current, index)?.focus({ preventScroll: true }))
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = moveFocus(event.key, focusedIndex, { columns, count: tasks.length })
    const task = tasks[focusedIndex]
    if (to !== undefined) {
      const id = tasks[to]?.id
      if (event.shiftKey && id !== undefined && task !== undefined) {
        const from = selection.anchor === undefined ? toggle(noSelection, task.id) : selection
        onSelection(
          extendTo(
            from,
            id,
            tasks.map((one) => one.id),
          ),
        )
      }
      focusAt(to)
    } else if (event.key === ' ') select(focusedIndex, event.shiftKey)
    else if (event.key === 'Enter' && task !== undefined)
      void navigate({ to: '/tasks/$taskId', params: { taskId: task.id } })
    else if (event.key.toLowerCase() === 'a' && (event.ctrlKey || event.metaKey)) {
      onSelection(selectAll(tasks.map(({ id }) => id)))
    } else if (event.key === 'Escape') onSelection(noSelection)
    else return
    event.preventDefault()
  }

  return (
    // biome-ignore lint/a11y/useSemanticElements: rows of a table cannot be laid out as a grid of pictures
    <div
      ref={grid}
      role="grid"
      aria-label={text.grid}
      aria-multiselectable
      aria-rowcount={loadMore === undefined ? rowCount : -1}
      aria-colcount={columns}
      className={styles.grid}
      style={{ height: virtualizer.getTotalSize() }}
      onKeyDown={onKeyDown}
    >
      {rows.map((row) => (
        // biome-ignore lint/a11y/useSemanticElements: as above
        // biome-ignore lint/a11y/useFocusableInteractive: as above
        <div
          key={row.key}
          ref={virtualizer.measureElement}
          role="row"
          data-index={row.index}
          aria-rowindex={row.index + 1}
          className={styles.row}
          style={{ gridTemplateColumns: `repeat(${columns}, 1fr)`, translate: `0 ${row.start - topPx}px` }}
        >
          {tasks.slice(row.index * columns, (row.index + 1) * columns).map((task, column) => {
            const index = row.index * columns + column
            return (
              <TaskTile
                key={task.id}
                task={task}
                index={index}
                column={column}
                isSelected={selection.ids.has(task.id)}
                isFocused={index === focusedIndex}
                onSelect={select}
                onFocus={setFocused}
              />
            )
          })}
        </div>
      ))}
    </div>
  )
}

const cellAt = (grid: HTMLElement | null, index: number) =>
  grid?.querySelector<HTMLElement>(`[role="gridcell"][data-index="${index}"]`)

const withRow = (rows: readonly number[], row: number): number[] =>
  rows.includes(row) ? [...rows] : [...rows, row].sort((a, b) => a - b)

/** Width of the grid, and its distance from the top of the document. */
function useBox(element: { readonly current: HTMLElement | null }) {
  const [box, setBox] = useState({ widthPx: 0, topPx: 0 })
  useLayoutEffect(() => {
    const measure = (): void => {
      const rect = element.current?.getBoundingClientRect()
      if (rect === undefined) return
      const [widthPx, topPx] = [rect.width, Math.round(rect.top + window.scrollY)]
      setBox((last) => (last.widthPx === widthPx && last.topPx === topPx ? last : { widthPx, topPx }))
    }
    measure()
    // The body changes its height with everything above the grid.
    const observer = new ResizeObserver(measure)
    observer.observe(document.body)
    if (element.current) observer.observe(element.current)
    return () => observer.disconnect()
  }, [element])
  return box
}
