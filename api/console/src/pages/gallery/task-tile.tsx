import { Link } from '@tanstack/react-router'
import type { Task } from 'matte-client'
import { type MouseEvent, memo } from 'react'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { TaskBadge } from '../../ui/status.tsx'
import styles from './gallery.module.css'
import { galleryText } from './gallery-text.ts'
import { sourceName } from './task-names.ts'
import { TaskPicture } from './task-picture.tsx'

type TileProps = {
  readonly task: Task
  readonly index: number
  readonly column: number
  readonly isSelected: boolean
  readonly isFocused: boolean
  readonly onSelect: (index: number, isRange: boolean) => void
  readonly onFocus: (index: number) => void
}

/** One task as a picture. The keyboard belongs to the grid; links and checkboxes inside are for the pointer. */
export const TaskTile = memo(function TaskTile(props: TileProps) {
  const { task, index, column, isSelected, isFocused, onSelect, onFocus } = props
  const text = useText(galleryText)
  const format = useFormat()
  // Erasing leaves only an id in the key of the photo.
  const name = task.erasedAt === null ? sourceName(task) : text.erasedName
  const onClick = (event: MouseEvent): void => {
    if (!event.shiftKey && !event.ctrlKey && !event.metaKey) return
    event.preventDefault()
    onSelect(index, event.shiftKey)
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows of a table cannot be laid out as a grid of pictures
    <div
      role="gridcell"
      data-index={index}
      className={styles.tile}
      tabIndex={isFocused ? 0 : -1}
      aria-colindex={column + 1}
      aria-selected={isSelected}
      onFocus={() => onFocus(index)}
    >
      <Link
        to="/tasks/$taskId"
        params={{ taskId: task.id }}
        preload={false}
        className={styles.link}
        tabIndex={-1}
        draggable={false}
        onClick={onClick}
      >
        <TaskPicture key={task.resultUrl === null ? 'none' : 'result'} task={task} />
        <span className={styles.name} title={name}>
          {name}
        </span>
      </Link>
      <span className={styles.meta}>
        <TaskBadge status={task.status} />
        <time dateTime={task.createdAt} title={format.dateTime(task.createdAt)}>
          {format.relativeShort(task.createdAt, Date.now())}
        </time>
      </span>
      <input
        type="checkbox"
        className={styles.check}
        tabIndex={-1}
        checked={isSelected}
        aria-label={text.select(name)}
        onClick={(event) => onSelect(index, event.shiftKey)}
        onChange={() => undefined}
      />
    </div>
  )
})
