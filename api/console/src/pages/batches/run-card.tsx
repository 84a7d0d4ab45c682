// One folder: totals, rate, failures with reasons, and all results as an archive.
import type { Task } from 'matte-client'
import { useEffect, useRef, useState } from 'react'
import { type Service, useService } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Card } from '../../ui/page.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { Badge } from '../../ui/status.tsx'
import { useZip } from '../gallery/use-zip.ts'
import styles from './batches.module.css'
import { batchesText } from './batches-text.ts'
import { Failures } from './failures.tsx'
import { FileInput, useFolderReader } from './folder-picker.tsx'
import { type Folder, filesOfHandle, filesOfInput } from './photos.ts'
import { countRun, groupFailures, type Run, resultPath } from './run-progress.ts'
import type { Runs } from './runs.ts'
import { Totals } from './totals.tsx'

const tones = { running: 'active', paused: 'warn', finished: 'good' } as const

export function RunCard({ run, runs }: { readonly run: Run; readonly runs: Runs }) {
  const text = useText(batchesText)
  const format = useFormat()
  const service = useService()
  const zip = useZip()
  const nowMs = useNow(run.state === 'running')
  const [isForgetting, setIsForgetting] = useState(false)
  const numbers = countRun(run, nowMs)
  const { perMinute, leftMs, doneCount, failedCount } = numbers
  return (
    <Card title={run.name} actions={<Badge tone={tones[run.state]}>{text.states[run.state]}</Badge>}>
      <div className={styles.run}>
        <Totals
          label={text.progressOf(format.number(doneCount + failedCount), format.number(run.totalCount))}
          total={run.totalCount}
          parts={[
            { name: text.done, count: doneCount, tone: 'good' },
            { name: text.failed, count: failedCount, tone: 'bad' },
            { name: text.active, count: numbers.activeCount, tone: 'active' },
            { name: text.waiting, count: numbers.waitingCount, tone: 'neutral' },
          ]}
        />
        {run.state === 'running' && (
          <p className={styles.soft}>
            {text.rate}: {perMinute === undefined ? '–' : format.number(Math.round(perMinute))} · {text.left}:{' '}
            {leftMs === undefined ? '–' : formatLeft(leftMs)} · {text.keepOpen}
          </p>
        )}
        {run.stopped !== undefined && (
          <div>
            <p>{text.stopped}</p>
            <ErrorNote error={run.stopped} />
          </div>
        )}
        {failedCount > 0 && <Failures reasons={groupFailures(run.failures)} />}
        <div className={styles.actions}>
          {zip.state !== undefined ? (
            <>
              <span role="status">
                {text.zipping(format.number(zip.state.doneCount), format.number(zip.state.totalCount))}
              </span>
              <Button size="small" onPress={zip.stop}>
                {text.stop}
              </Button>
            </>
          ) : (
            doneCount > 0 && (
              <Button
                look={run.state === 'finished' ? 'primary' : 'plain'}
                onPress={() => {
                  const pathOf = new Map([...run.done].map(([path, taskId]) => [taskId, path]))
                  const nameOf = (task: Task): string =>
                    resultPath(pathOf.get(task.id) ?? '', task.resultFormat ?? 'png')
                  const tasks = readTasks(service, [...run.done.values()])
                  void zip.save({ service, tasks, totalCount: doneCount, name: run.name, nameOf })
                }}
              >
                {text.download(format.number(doneCount))}
              </Button>
            )
          )}
          {run.state === 'running' ? (
            <Button onPress={() => runs.pause(run.id)}>{text.pause}</Button>
          ) : (
            <Resume run={run} runs={runs} />
          )}
          <Button look="quiet" onPress={() => setIsForgetting(true)}>
            {text.forget}
          </Button>
        </div>
      </div>
      <ConfirmDialog
        title={text.forgetTitle}
        action={text.forget}
        isOpen={isForgetting}
        onClose={() => setIsForgetting(false)}
        onConfirm={() => runs.forget(run.id)}
      >
        {text.forgetNote}
      </ConfirmDialog>
    </Card>
  )
}

/** Continues with a stored handle, or asks for the folder again. */
function Resume({ run, runs }: { readonly run: Run; readonly runs: Runs }) {
  const text = useText(batchesText)
  const format = useFormat()
  const service = useService()
  const input = useRef<HTMLInputElement>(null)
  const go = (folder: Folder): void => {
    if (folder.name === run.name) void runs.resume(service, run.id, folder)
    else reader.setProblem(text.otherFolder(run.name))
  }
  const reader = useFolderReader(go)
  const failedCount = run.failures.length
  if (run.state === 'finished' && failedCount === 0) return null
  const { handle } = run
  const resume = (): void => {
    if (handle !== undefined) {
      void reader.read(async () => {
        await (handle as Permitted).requestPermission?.({ mode: 'read' })
        return { files: await filesOfHandle(handle), handle }
      })
    } else if (!reader.pick()) input.current?.click()
  }
  const failed = format.number(failedCount)
  const isRetry = run.state === 'finished'
  return (
    <>
      <Button look={isRetry ? 'plain' : 'primary'} isPending={reader.isReading} onPress={resume}>
        {handle === undefined
          ? isRetry
            ? text.retryFailedChoose(failed)
            : text.resumeChoose
          : isRetry
            ? text.retryFailed(failed)
            : text.resume}
      </Button>
      <FileInput
        inputRef={input}
        isFolder={run.name !== text.photos}
        onFiles={(list) => void reader.read(async () => ({ files: filesOfInput(list) }))}
      />
      {reader.problem !== undefined && (
        <p role="alert" className={styles.problem}>
          {reader.problem}
        </p>
      )}
    </>
  )
}

type Permitted = FileSystemDirectoryHandle & {
  requestPermission?: (options: { mode: 'read' }) => Promise<PermissionState>
}

/** Tasks one by one, as the archive needs them. A deleted one is left out by its download. */
async function* readTasks(service: Service, ids: readonly string[]): AsyncGenerator<Task> {
  for (const id of ids) {
    const task = await service.tasks.get(id).catch(() => undefined)
    if (task !== undefined) yield task
  }
}

function useNow(isTicking: boolean): number {
  const [nowMs, setNowMs] = useState(() => Date.now())
  useEffect(() => {
    if (!isTicking) return
    const timer = setInterval(() => setNowMs(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [isTicking])
  return nowMs
}

/** `2:05:09` or `5:09`. */
function formatLeft(ms: number): string {
  const seconds = Math.ceil(ms / 1_000)
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60]
  const [hours = 0, ...rest] = parts
  const padded = rest.map((part) => String(part).padStart(2, '0')).join(':')
  return hours > 0 ? `${hours}:${padded}` : padded
}
