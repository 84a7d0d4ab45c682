import type { Task } from 'matte-client'
import { useEffect, useRef, useState } from 'react'
import { toMatteError } from '../../matte-error.ts'
import { useService, useSession } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx'
import { showNote } from '../../ui/toasts.tsx'
import styles from './gallery.module.css'
import { galleryText } from './gallery-text.ts'
import { sourceName } from './task-names.ts'
import { canCancel, canErase, canRetry, type Outcome, useTaskActions } from './use-task-actions.ts'
import { useZip } from './use-zip.ts'

type BarProps = { readonly tasks: readonly Task[]; readonly onClear: () => void }

/** Actions on the selected tasks. */
export function SelectionBar({ tasks, onClear }: BarProps) {
  const text = useText(galleryText)
  const format = useFormat()
  const service = useService()
  const actions = useTaskActions()
  const mayChange = useMayChange()
  const zip = useZip()
  const [outcome, setOutcome] = useState<Outcome>()
  const [isErasing, setIsErasing] = useState(false)
  const bar = useRef<HTMLElement>(null)
  // A pressed button may disappear with what it did, so the keyboard goes on at the bar, or in the grid.
  const keepFocus = (): void => bar.current?.focus()
  const clear = (): void => {
    onClear()
    document.querySelector<HTMLElement>('[role="gridcell"][tabindex="0"]')?.focus()
  }
  const retryable = mayChange ? tasks.filter(canRetry) : []
  const cancelable = mayChange ? tasks.filter(canCancel) : []
  const erasable = mayChange ? tasks.filter(canErase) : []
  const results = tasks.filter(({ status, resultUrl }) => status === 'succeeded' && resultUrl !== null)
  const report = (done: (count: string) => string, result: Outcome): void => {
    if (result.doneCount > 0) showNote(done(format.number(result.doneCount)))
    if (result.refusals.length > 0) setOutcome(result)
  }
  if (tasks.length === 0 && zip.state === undefined && outcome === undefined) return null
  return (
    <section
      ref={bar}
      tabIndex={-1}
      className={styles.selection}
      aria-label={text.selected(format.number(tasks.length))}
    >
      <strong role="status">
        {zip.state === undefined
          ? text.selected(format.number(tasks.length))
          : text.zipping(format.number(zip.state.doneCount), format.number(zip.state.totalCount))}
      </strong>
      {zip.state !== undefined && (
        <>
          <progress max={zip.state.totalCount} value={zip.state.doneCount} />
          <Button size="small" onPress={zip.stop}>
            {text.stop}
          </Button>
        </>
      )}
      {zip.state === undefined && (
        <>
          {retryable.length + cancelable.length + erasable.length + results.length === 0 && <p>{text.nothingToDo}</p>}
          {retryable.length > 0 && (
            <>
              <p>{text.retryHint}</p>
              <Button
                onPress={() => {
                  keepFocus()
                  void actions.retry(retryable).then((result) => report(text.retried, result))
                }}
              >
                {text.retry(format.number(retryable.length))}
              </Button>
            </>
          )}
          {cancelable.length > 0 && (
            <Button
              look="danger"
              onPress={() => {
                keepFocus()
                void actions.cancel(cancelable).then((result) => report(text.canceled, result))
              }}
            >
              {text.cancel(format.number(cancelable.length))}
            </Button>
          )}
          {erasable.length > 0 && (
            <Button look="danger" onPress={() => setIsErasing(true)}>
              {text.erase(format.number(erasable.length))}
            </Button>
          )}
          {results.length > 0 && (
            <Button
              look="primary"
              onPress={() => void zip.save({ service, tasks: results, totalCount: results.length, name: text.file })}
            >
              {text.download(format.number(results.length))}
            </Button>
          )}
          <Button look="quiet" onPress={clear}>
            {text.clearSelection}
          </Button>
        </>
      )}
      <ConfirmDialog
        title={text.eraseTitle(format.number(erasable.length))}
        action={text.erase(format.number(erasable.length))}
        isOpen={isErasing}
        onClose={() => setIsErasing(false)}
        onConfirm={async () => {
          keepFocus()
          report(text.erased, await actions.erase(erasable))
        }}
      >
        {text.eraseLede}
      </ConfirmDialog>
      <RefusalDialog outcome={outcome} onClose={() => setOutcome(undefined)} />
    </section>
  )
}

type RefusalProps = { readonly outcome: Outcome | undefined; readonly onClose: () => void }

export function RefusalDialog({ outcome, onClose }: RefusalProps) {
  const text = useText(galleryText)
  const format = useFormat()
  const last = useRef(outcome)
  useEffect(() => {
    if (outcome !== undefined) last.current = outcome
  }, [outcome])
  const refusals = (outcome ?? last.current)?.refusals ?? []
  return (
    <Dialog title={text.refused(format.number(refusals.length))} isOpen={outcome !== undefined} onClose={onClose}>
      <div>
        <p>{text.refusedLede}</p>
        <ul className={styles.refusals}>
          {refusals.map(({ task, error }) => (
            <li key={task.id}>
              {sourceName(task)}: {toMatteError(error).message}
            </li>
          ))}
        </ul>
      </div>
    </Dialog>
  )
}

/** Members with the role billing read only. */
export function useMayChange(): boolean {
  const session = useSession()
  return session.kind === 'key' || (session.kind === 'member' && session.role !== 'billing')
}
