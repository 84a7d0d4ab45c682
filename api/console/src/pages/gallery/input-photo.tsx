import { useQuery } from '@tanstack/react-query'
import type { Task } from 'matte-client'
import { useState } from 'react'
import { useApp, useSession } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import styles from './task.module.css'
import { sourceName } from './task-names.ts'
import { taskText } from './task-text.ts'

/** The link to a photo lives for 15 minutes. */
const freshMs = 600_000

/** The photo of a task, as long as the service has it. Sessions by key get no link to it. */
export function InputPhoto({ task }: { readonly task: Task }) {
  const app = useApp()
  const text = useText(taskText)
  const isMember = useSession().kind === 'member'
  const [isGone, setIsGone] = useState(false)
  const { id: taskId } = task
  const input = useQuery({
    queryKey: ['task-input', taskId],
    queryFn: ({ signal }) => app.request('GET', '/app/tasks/images/{taskId}/input', { path: { taskId }, signal }),
    enabled: isMember && task.erasedAt === null,
    staleTime: freshMs,
  })
  const hasGone = isGone || task.erasedAt !== null
  if (!isMember || hasGone || input.error !== null) {
    return (
      <div className={styles.noPhoto}>
        <p>{hasGone ? text.photoGone : text.noPhoto}</p>
        <code>{task.sourceUrl}</code>
      </div>
    )
  }
  return (
    <div className={styles.photo}>
      {input.data !== undefined && (
        <img src={input.data.url} alt={text.photoOf(sourceName(task))} onError={() => setIsGone(true)} />
      )}
    </div>
  )
}
