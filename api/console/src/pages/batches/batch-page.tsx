// One batch: totals, failures with reasons, its tasks as pictures, and all results as an archive.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import type { Batch } from 'matte-client'
import { useMemo, useState } from 'react'
import { useTaskChanges } from '../../session/task-changes.ts'
import { useService, useSession } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button, LinkButton } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Card, Facts, Page } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Badge } from '../../ui/status.tsx'
import { showNote } from '../../ui/toasts.tsx'
import { noSelection, type Selection } from '../gallery/selection.ts'
import { RefusalDialog, SelectionBar, useMayChange } from '../gallery/selection-bar.tsx'
import { batchKey } from '../gallery/task-cache.ts'
import { TaskGrid } from '../gallery/task-grid.tsx'
import { sourceName } from '../gallery/task-names.ts'
import { canRetry, type Outcome, useTaskActions } from '../gallery/use-task-actions.ts'
import { isOpen } from '../gallery/use-tasks.ts'
import { useZip } from '../gallery/use-zip.ts'
import styles from './batches.module.css'
import { batchesText } from './batches-text.ts'
import { Failures } from './failures.tsx'
import { groupFailures } from './run-progress.ts'
import { Totals } from './totals.tsx'

const pollMs = 2_000
/** Changes of a large batch come in bursts; each burst reads it once. */
const settledMs = 1_000

export function BatchPage() {
  const { batchId } = useParams({ from: '/_signed/batches/$batchId' })
  const text = useText(batchesText)
  const query = useBatch(batchId)
  const { data: batch } = query
  return (
    <Page
      title={`${text.batch} ${batchId.slice(0, 8)}`}
      lede={
        batch === undefined ? (
          '\u00a0'
        ) : (
          <Badge tone={batch.status === 'completed' ? 'good' : 'active'}>{text.statuses[batch.status]}</Badge>
        )
      }
      actions={batch !== undefined && <Actions batch={batch} />}
    >
      <Loaded query={query} lines={12}>
        {(loaded) => <BatchContent batch={loaded} />}
      </Loaded>
    </Page>
  )
}

function useBatch(id: string) {
  const service = useService()
  const queries = useQueryClient()
  const { kind } = useSession()
  const [refresh] = useState(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    return () => {
      if (timer !== undefined) return
      timer = setTimeout(() => {
        timer = undefined
        void queries.invalidateQueries({ queryKey: batchKey(id) })
      }, settledMs)
    }
  })
  useTaskChanges(({ batchId }) => {
    if (batchId === id) refresh()
  })
  return useQuery({
    queryKey: batchKey(id),
    queryFn: ({ signal }) => service.batches.get(id, { signal }),
    refetchInterval: ({ state: { data } }) =>
      data?.tasks.some(isOpen) ? (kind === 'member' ? pollMs * 10 : pollMs) : false,
  })
}

function Actions({ batch }: { readonly batch: Batch }) {
  const text = useText(batchesText)
  const format = useFormat()
  const service = useService()
  const queries = useQueryClient()
  const actions = useTaskActions()
  const mayChange = useMayChange()
  const zip = useZip()
  const [isCanceling, setIsCanceling] = useState(false)
  const [outcome, setOutcome] = useState<Outcome>()
  const results = batch.tasks.filter(({ status }) => status === 'succeeded')
  const failed = batch.tasks.filter(canRetry)
  const queuedCount = batch.tasks.filter(({ status }) => status === 'queued').length
  const retry = async (): Promise<void> => {
    const result = await actions.retry(failed)
    if (result.doneCount > 0) showNote(text.retried(format.number(result.doneCount)))
    if (result.refusals.length > 0) setOutcome(result)
  }
  return (
    <>
      <LinkButton to="/gallery" search={{ batch: batch.id }} look="quiet">
        {text.inGallery}
      </LinkButton>
      {mayChange && queuedCount > 0 && (
        <Button look="danger" onPress={() => setIsCanceling(true)}>
          {text.cancel}
        </Button>
      )}
      {mayChange && failed.length > 0 && (
        <Button onPress={() => void retry()}>{text.retryFailed(format.number(failed.length))}</Button>
      )}
      {zip.state !== undefined ? (
        <Button onPress={zip.stop}>
          {text.zipping(format.number(zip.state.doneCount), format.number(zip.state.totalCount))} · {text.stop}
        </Button>
      ) : (
        results.length > 0 && (
          <Button
            look="primary"
            onPress={() =>
              void zip.save({
                service,
                tasks: results,
                totalCount: results.length,
                name: `${text.batch} ${batch.id.slice(0, 8)}`,
              })
            }
          >
            {text.download(format.number(results.length))}
          </Button>
        )
      )}
      <ConfirmDialog
        title={text.cancelTitle}
        action={text.cancel}
        isOpen={isCanceling}
        onClose={() => setIsCanceling(false)}
        onConfirm={async () => queries.setQueryData(batchKey(batch.id), await service.batches.cancel(batch.id))}
      >
        {text.cancelNote(format.number(queuedCount))}
      </ConfirmDialog>
      <RefusalDialog outcome={outcome} onClose={() => setOutcome(undefined)} />
    </>
  )
}

function BatchContent({ batch }: { readonly batch: Batch }) {
  const text = useText(batchesText)
  const format = useFormat()
  const [selection, setSelection] = useState<Selection>(noSelection)
  const { tasks, totalCount, succeededCount, failedCount, canceledCount, completedAt, callbackUrl } = batch
  const selected = useMemo(() => tasks.filter(({ id }) => selection.ids.has(id)), [tasks, selection])
  const activeCount = tasks.filter(({ status }) => status === 'processing').length
  const queuedCount = tasks.filter(({ status }) => status === 'queued').length
  const failures = tasks.flatMap((task) =>
    task.failure === null ? [] : [{ path: sourceName(task), code: task.failure.reason, message: task.failure.message }],
  )
  return (
    <>
      <Card>
        <div className={styles.run}>
          <Totals
            label={text.progressOf(format.number(totalCount - activeCount - queuedCount), format.number(totalCount))}
            total={totalCount}
            parts={[
              { name: text.succeeded, count: succeededCount, tone: 'good' },
              { name: text.failed, count: failedCount, tone: 'bad' },
              { name: text.canceled, count: canceledCount, tone: 'warn' },
              { name: text.active, count: activeCount, tone: 'active' },
              { name: text.waiting, count: queuedCount, tone: 'neutral' },
            ]}
          />
          <Facts
            facts={[
              { name: text.batch, value: <code>{batch.id}</code> },
              { name: text.created, value: format.dateTime(batch.createdAt) },
              { name: text.completed, value: completedAt === null ? '–' : format.dateTime(completedAt) },
              { name: text.model, value: batch.modelVersion },
              ...(callbackUrl === null ? [] : [{ name: text.callback, value: callbackUrl }]),
            ]}
          />
          {failures.length > 0 && <Failures reasons={groupFailures(failures)} />}
        </div>
      </Card>
      <h2>{text.tasks}</h2>
      <TaskGrid tasks={tasks} selection={selection} onSelection={setSelection} loadMore={undefined} />
      <SelectionBar tasks={selected} onClear={() => setSelection(noSelection)} />
    </>
  )
}
