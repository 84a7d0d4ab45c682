// One task: photo and cut-out side by side, what can be done, its history, its facts and its webhooks.
import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import type { Task } from 'matte-client'
import { useEffect, useState } from 'react'
import { useService } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button, LinkButton } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Card, type Fact, Facts, Page } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { TaskBadge } from '../../ui/status.tsx'
import { showError } from '../../ui/toasts.tsx'
import { isToCheck } from './gallery-search.ts'
import { galleryText } from './gallery-text.ts'
import { InputPhoto } from './input-photo.tsx'
import { RefusalDialog, useMayChange } from './selection-bar.tsx'
import styles from './task.module.css'
import { findNeighbours } from './task-cache.ts'
import { TaskHistory } from './task-history.tsx'
import { resultName, sourceName } from './task-names.ts'
import { TaskPicture } from './task-picture.tsx'
import { taskText } from './task-text.ts'
import { TaskWebhooks } from './task-webhooks.tsx'
import { useTask } from './use-task.ts'
import { canCancel, canErase, canRetry, type Outcome, useTaskActions } from './use-task-actions.ts'

export function TaskPage() {
  const { taskId } = useParams({ from: '/_signed/tasks/$taskId' })
  const text = useText(taskText)
  const gallery = useText(galleryText)
  const query = useTask(taskId)
  const { data: task } = query
  return (
    <Page
      title={task === undefined ? text.title : task.erasedAt === null ? sourceName(task) : gallery.erasedName}
      lede={task === undefined ? '\u00a0' : <TaskBadge status={task.status} />}
      actions={<Actions task={task} taskId={taskId} />}
    >
      <Loaded query={query} lines={12}>
        {(task) => (
          <>
            <Pictures task={task} />
            <div className={styles.columns}>
              <TaskHistory key={task.id} task={task} />
              <TaskFacts task={task} />
            </div>
            <TaskWebhooks key={task.id} task={task} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

function Actions({ task, taskId }: { readonly task: Task | undefined; readonly taskId: string }) {
  const text = useText(taskText)
  const service = useService()
  const actions = useTaskActions()
  const mayChange = useMayChange()
  const [outcome, setOutcome] = useState<Outcome>()
  const [isSaving, setIsSaving] = useState(false)
  const [isErasing, setIsErasing] = useState(false)
  const show = (result: Outcome): void => {
    if (result.refusals.length > 0) setOutcome(result)
  }
  const download = async (shown: Task): Promise<void> => {
    setIsSaving(true)
    try {
      const [{ saveBlob }, cutout] = await Promise.all([import('./save-zip.ts'), service.tasks.download(shown)])
      saveBlob(await cutout.blob(), resultName(cutout.task))
    } catch (error) {
      showError(error)
    } finally {
      setIsSaving(false)
    }
  }
  return (
    <>
      <Neighbours taskId={taskId} />
      {task !== undefined && mayChange && canCancel(task) && (
        <Button look="danger" onPress={() => void actions.cancel([task]).then(show)}>
          {text.cancel}
        </Button>
      )}
      {task !== undefined && mayChange && canRetry(task) && (
        <Button onPress={() => void actions.retry([task]).then(show)} aria-describedby="retry-price">
          {text.retry}
        </Button>
      )}
      {task !== undefined && mayChange && canErase(task) && (
        <Button look="danger" onPress={() => setIsErasing(true)}>
          {text.erase}
        </Button>
      )}
      {task?.status === 'succeeded' && task.resultUrl !== null && (
        <Button look="primary" isPending={isSaving} onPress={() => void download(task)}>
          {text.download}
        </Button>
      )}
      <span id="retry-price" className="visually-hidden">
        {text.retryHint}
      </span>
      {task !== undefined && (
        <ConfirmDialog
          title={text.eraseTitle}
          action={text.erase}
          isOpen={isErasing}
          onClose={() => setIsErasing(false)}
          onConfirm={async () => show(await actions.erase([task]))}
        >
          {text.eraseLede}
        </ConfirmDialog>
      )}
      <RefusalDialog outcome={outcome} onClose={() => setOutcome(undefined)} />
    </>
  )
}

/** The tasks beside this one in the list it was opened from; the arrow keys go there, and Escape goes back. */
function Neighbours({ taskId }: { readonly taskId: string }) {
  const text = useText(taskText)
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { newer, older } = findNeighbours(queries, taskId)
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const isElsewhere = event.target instanceof Element && event.target.closest('input, section[tabindex], [role]')
      if (isElsewhere || event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return
      const to = event.key === 'ArrowLeft' ? newer : event.key === 'ArrowRight' ? older : undefined
      if (to !== undefined) void navigate({ to: '/tasks/$taskId', params: { taskId: to } })
      else if (event.key === 'Escape') history.back()
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [newer, older, navigate])
  if (newer === undefined && older === undefined) return null
  return (
    <>
      <Neighbour taskId={newer} label={`← ${text.newer}`} />
      <Neighbour taskId={older} label={`${text.older} →`} />
    </>
  )
}

const Neighbour = ({ taskId, label }: { readonly taskId: string | undefined; readonly label: string }) =>
  taskId === undefined ? (
    <Button look="quiet" isDisabled>
      {label}
    </Button>
  ) : (
    <LinkButton to="/tasks/$taskId" params={{ taskId }} look="quiet">
      {label}
    </LinkButton>
  )

function Pictures({ task }: { readonly task: Task }) {
  const text = useText(taskText)
  const format = useFormat()
  const { status, failure } = task
  // A charged result has a link until it is erased.
  const isUncharged = status === 'succeeded' && task.resultUrl === null && task.erasedAt === null
  return (
    <div className={styles.pictures}>
      <Card title={text.photo}>
        <InputPhoto key={`${task.id} ${task.erasedAt === null}`} task={task} />
      </Card>
      <Card title={text.cutOut}>
        <TaskPicture key={`${task.id} ${task.resultUrl === null}`} task={task} isLarge />
        {failure !== null && (
          <p role="status" className={styles.failure}>
            {failure.message} <code>{failure.reason}</code>
          </p>
        )}
        {task.erasedAt !== null && <p className={styles.under}>{text.erasedNote(format.dateTime(task.erasedAt))}</p>}
        {isUncharged && <p className={styles.under}>{text.unchargedNote}</p>}
        {status === 'canceled' && <p className={styles.under}>{text.canceledNote}</p>}
        {(status === 'queued' || status === 'processing') && <p className={styles.under}>{text.waitsFor}</p>}
      </Card>
    </div>
  )
}

function TaskFacts({ task }: { readonly task: Task }) {
  const text = useText(taskText)
  const format = useFormat()
  const describeConfidence = (share: string, isUnsure: boolean): string => (isUnsure ? text.toCheck(share) : share)
  const { id, width, height, resultFormat, foreground, durationMs, completedAt, batchId, callbackUrl } = task
  const facts: (Fact | undefined)[] = [
    { name: text.id, value: <code>{id}</code> },
    { name: text.model, value: task.modelVersion },
    { name: text.created, value: format.dateTime(task.createdAt) },
    { name: text.completed, value: completedAt === null ? '–' : format.dateTime(completedAt) },
    { name: text.duration, value: durationMs === undefined ? '–' : format.duration(durationMs) },
    width === null || height === null
      ? undefined
      : {
          name: text.size,
          value: text.sizeOf(format.number(width), format.number(height), resultFormat?.toUpperCase() ?? ''),
        },
    task.status !== 'succeeded'
      ? undefined
      : { name: text.subject, value: foreground === null ? text.noSubject : text.subjectAt(...box(foreground)) },
    task.confidence === undefined
      ? undefined
      : {
          name: text.confidence,
          value: describeConfidence(format.percent(task.confidence), isToCheck(task) && task.erasedAt === null),
        },
    { name: text.retries, value: format.number(task.retryCount) },
    batchId === null
      ? undefined
      : {
          name: text.batch,
          value: (
            <Link to="/batches/$batchId" params={{ batchId }}>
              {batchId}
            </Link>
          ),
        },
    task.retention === null ? undefined : { name: text.retention, value: format.period(task.retention) },
    callbackUrl === null ? undefined : { name: text.callback, value: callbackUrl },
    { name: text.input, value: <code>{task.sourceUrl}</code> },
  ]
  return (
    <Card title={text.facts}>
      <Facts facts={facts.filter((fact) => fact !== undefined)} />
    </Card>
  )
}

const box = ({ width, height, left, top }: NonNullable<Task['foreground']>) =>
  [String(width), String(height), String(left), String(top)] as const
