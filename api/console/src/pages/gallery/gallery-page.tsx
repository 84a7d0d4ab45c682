// Tasks as pictures, with filters in the address, selection by pointer and keyboard, and bulk actions.
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback, useMemo, useRef, useState } from 'react'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button, LinkButton } from '../../ui/button.tsx'
import { Card, Page } from '../../ui/page.tsx'
import { Empty, ErrorNote } from '../../ui/states.tsx'
import { uiText } from '../../ui/ui-text.ts'
import styles from './gallery.module.css'
import { GalleryFilters } from './gallery-filters.tsx'
import type { GallerySearch } from './gallery-search.ts'
import { galleryText } from './gallery-text.ts'
import { noSelection, type Selection, selectAll } from './selection.ts'
import { SelectionBar } from './selection-bar.tsx'
import { TaskGrid } from './task-grid.tsx'
import { type TaskList, useTasks } from './use-tasks.ts'

export function GalleryPage() {
  const text = useText(galleryText)
  const format = useFormat()
  const search = useSearch({ from: '/_signed/gallery' })
  const navigate = useNavigate()
  const list = useTasks(search)
  const { tasks } = list
  const [selection, setSelection] = useState<Selection>(noSelection)
  const selected = useMemo(() => tasks.filter(({ id }) => selection.ids.has(id)), [tasks, selection])
  const models = useMemo(() => [...new Set(tasks.map(({ modelVersion }) => modelVersion))], [tasks])
  const further = useBoundedSearch(list, search)
  const onSearch = (next: GallerySearch): void => {
    setSelection(noSelection)
    void navigate({ to: '/gallery', search: next, replace: true })
  }
  const isFiltered = Object.keys(search).length > 0
  return (
    <Page title={text.title} lede={text.lede}>
      <GalleryFilters search={search} onSearch={onSearch} models={models} />
      <div className={styles.bar}>
        <span role="status">
          <Count list={list} />
        </span>
        {tasks.length > 0 && (
          <Button
            size="small"
            look="quiet"
            onPress={() => setSelection(selectAll(tasks.map(({ id }) => id)))}
            isDisabled={selected.length === tasks.length}
          >
            {text.selectAll}
          </Button>
        )}
        <span className={styles.keys}>{text.keys}</span>
      </div>
      {list.newCount > 0 && (
        <div className={styles.new}>
          <Button look="primary" size="small" onPress={list.showNew}>
            {text.newTasks(format.number(list.newCount))}
          </Button>
        </div>
      )}
      {list.isLoading ? (
        <Bones count={18} />
      ) : (
        <>
          {tasks.length > 0 && (
            <div className={selected.length > 0 ? styles.selecting : undefined}>
              <TaskGrid tasks={tasks} selection={selection} onSelection={setSelection} loadMore={further.loadMore} />
            </div>
          )}
          {list.isLoadingMore && <Bones count={6} />}
          {list.error !== null && <ErrorNote error={list.error} onRetry={list.retry} />}
          {further.resume !== undefined && <Button onPress={further.resume}>{text.searchFurther}</Button>}
          {tasks.length === 0 && list.error === null && list.loadMore === undefined && !list.isLoadingMore && (
            <NoTasks isFiltered={isFiltered} onClear={() => onSearch({})} />
          )}
        </>
      )}
      <SelectionBar tasks={selected} onClear={() => setSelection(noSelection)} />
    </Page>
  )
}

function Count({ list: { tasks, total, isLoading, loadMore } }: { readonly list: TaskList }) {
  const text = useText(galleryText)
  const format = useFormat()
  const shown = format.number(tasks.length)
  if (isLoading) return <>{'\u00a0'}</>
  if (loadMore === undefined || total === tasks.length) return text.countAll(shown)
  return total === undefined ? text.countSome(shown) : text.count(shown, format.number(total))
}

const Bones = ({ count }: { readonly count: number }) => {
  const text = useText(uiText)
  return (
    <div className={`${styles.row} ${styles.still}`} role="status">
      <span className="visually-hidden">{text.loading}</span>
      {Array.from({ length: count }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are alike
        <span key={at} className={styles.bone} aria-hidden="true" />
      ))}
    </div>
  )
}

type NoTasksProps = { readonly isFiltered: boolean; readonly onClear: () => void }

function NoTasks({ isFiltered, onClear }: NoTasksProps) {
  const text = useText(galleryText)
  return (
    <Card>
      {isFiltered ? (
        <Empty title={text.nothing} action={<Button onPress={onClear}>{text.clear}</Button>} />
      ) : (
        <Empty
          title={text.empty}
          action={
            <LinkButton to="/" look="primary">
              {text.toPlayground}
            </LinkButton>
          }
        >
          {text.emptyLede}
        </Empty>
      )}
    </Card>
  )
}

/** Pages in a row that may hold no match of a filter of the page before the person is asked. */
const pagesWithoutMatchMax = 10

/** A filter that only the page applies may match rarely, so the search pauses after some pages. */
function useBoundedSearch(list: TaskList, search: GallerySearch) {
  const [, draw] = useState(0)
  const since = useRef({ search, matchCount: 0, pages: 0 })
  const { tasks, loadMore } = list
  if (since.current.search !== search || since.current.matchCount !== tasks.length) {
    since.current = { search, matchCount: tasks.length, pages: 0 }
  }
  const isPaused = since.current.pages >= pagesWithoutMatchMax && loadMore !== undefined
  const load = useCallback(() => {
    since.current.pages++
    loadMore?.()
  }, [loadMore])
  const isEmpty = tasks.length === 0
  const next = loadMore === undefined || isPaused ? undefined : load
  // Without a row in the page the grid cannot ask for more.
  const hasAsked = useRef<unknown>(undefined)
  if (isEmpty && next !== undefined && hasAsked.current !== next) {
    hasAsked.current = next
    queueMicrotask(next)
  }
  const resume = (): void => {
    since.current.pages = 0
    loadMore?.()
    draw((count) => count + 1)
  }
  return { loadMore: next, resume: isPaused ? resume : undefined }
}
