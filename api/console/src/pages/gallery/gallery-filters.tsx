import { useState } from 'react'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { uiText } from '../../ui/ui-text.ts'
import styles from './gallery.module.css'
import { type GallerySearch, parseSearch, statuses } from './gallery-search.ts'
import { galleryText } from './gallery-text.ts'

type FiltersProps = {
  readonly search: GallerySearch
  readonly onSearch: (search: GallerySearch) => void
  /** Models of the tasks that are loaded. */
  readonly models: readonly string[]
}

export function GalleryFilters({ search, onSearch, models }: FiltersProps) {
  const text = useText(galleryText)
  const ui = useText(uiText)
  const set = (change: GallerySearch): void => onSearch({ ...search, ...change })
  const choices = [...new Set([...models, ...(search.model === undefined ? [] : [search.model])])]
  return (
    <search className={styles.filters} aria-label={text.filters}>
      <SelectField
        label={text.status}
        value={search.status ?? 'any'}
        onChange={(status) => set({ status: status === 'any' ? undefined : status })}
        choices={[
          { value: 'any', label: text.anyStatus },
          ...statuses.map((status) => ({ value: status, label: ui.status[status] })),
        ]}
      />
      <SelectField
        label={text.confidence}
        value={search.check ? 'check' : 'any'}
        onChange={(value) => set({ check: value === 'check' ? true : undefined })}
        choices={[
          { value: 'any', label: text.anyConfidence },
          { value: 'check', label: text.toCheck },
        ]}
      />
      <DayField label={text.from} day={search.from} onDay={(from) => set({ from })} />
      <DayField label={text.to} day={search.to} onDay={(to) => set({ to })} />
      {choices.length > (search.model === undefined ? 1 : 0) && (
        <SelectField
          label={text.model}
          value={search.model ?? ''}
          onChange={(model) => set({ model: model === '' ? undefined : model })}
          choices={[{ value: '', label: text.anyModel }, ...choices.map((model) => ({ value: model, label: model }))]}
        />
      )}
      {search.batch !== undefined && (
        <Button
          size="small"
          aria-label={text.removeFilter(text.batch(search.batch))}
          onPress={() => set({ batch: undefined })}
        >
          {text.batch(search.batch.slice(0, 8))} ×
        </Button>
      )}
      {Object.values(search).some((value) => value !== undefined) && (
        <Button size="small" look="quiet" onPress={() => onSearch({})}>
          {text.clear}
        </Button>
      )}
    </search>
  )
}

type DayProps = {
  readonly label: string
  readonly day: string | undefined
  readonly onDay: (day: string | undefined) => void
}

/** Applies whole days only: while a year is typed, the browser reports years such as 0002. */
function DayField({ label, day, onDay }: DayProps) {
  const [typed, setTyped] = useState(day ?? '')
  const [last, setLast] = useState(day)
  if (last !== day) {
    setLast(day)
    setTyped(day ?? '')
  }
  const change = (value: string): void => {
    setTyped(value)
    if (value === '') onDay(undefined)
    else if (value >= '2000' && parseSearch({ from: value }).from !== undefined) onDay(value)
  }
  return <TextField label={label} type="date" value={typed} onChange={change} />
}
