// Stand-ins for data: skeleton, empty list, error.
import { isProofRequired, MatteError } from 'matte-client/app'
import type { ReactNode } from 'react'
import { useText } from '../text/text.ts'
import { Button } from './button.tsx'
import styles from './states.module.css'
import { uiText } from './ui-text.ts'

type ErrorNoteProps = {
  readonly error: unknown
  readonly onRetry?: (() => void) | undefined
}

/** Says what happened and what to do, with the id of the request. Nothing after a proof that the person canceled. */
export function ErrorNote({ error, onRetry }: ErrorNoteProps) {
  const text = useText(uiText)
  if (isProofRequired(error)) return null
  const known = error instanceof MatteError ? error : undefined
  const advice = known === undefined ? text.errors.unknown : text.adviceFor(known.code, known.status)
  return (
    <div role="alert" className={styles.error}>
      <p className={styles.errorTitle}>{known?.message ?? text.errors.failed}</p>
      {advice !== '' && <p>{advice}</p>}
      <div className={styles.errorFoot}>
        {known !== undefined && known.code.startsWith('CLIENT_') === false && (
          <a href={`/docs/errors/${known.code}`}>{known.code}</a>
        )}
        {known?.requestId !== undefined && (
          <span>
            {text.errors.request} <code>{known.requestId}</code>
          </span>
        )}
        {onRetry !== undefined && (
          <Button size="small" onPress={onRetry}>
            {text.errors.retry}
          </Button>
        )}
      </div>
    </div>
  )
}

type EmptyProps = {
  readonly title: string
  readonly children?: ReactNode
  readonly action?: ReactNode
}

export const Empty = ({ title, children, action }: EmptyProps) => (
  <div className={styles.empty}>
    <p className={styles.emptyTitle}>{title}</p>
    {children !== undefined && <div className={styles.emptyText}>{children}</div>}
    {action}
  </div>
)

/** Keeps the place of what is loading. `lines` is the number of lines of text. */
export const Skeleton = ({ lines = 3 }: { readonly lines?: number }) => {
  const text = useText(uiText)
  return (
    <div className={styles.skeleton} role="status">
      <span className="visually-hidden">{text.loading}</span>
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are alike
        <span key={line} className={styles.bone} aria-hidden="true" />
      ))}
    </div>
  )
}

type QueryState<T> = {
  readonly data: T | undefined
  readonly error: unknown
  readonly refetch: () => unknown
}

type LoadedProps<T> = {
  readonly query: QueryState<T>
  readonly children: (data: T) => ReactNode
  readonly lines?: number
}

/** Shows the data, or its skeleton, or its error. Data of an earlier answer stays beside a later error. */
export function Loaded<T>({ query, children, lines = 3 }: LoadedProps<T>) {
  const { data, error, refetch } = query
  return (
    <>
      {error !== null && error !== undefined && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data === undefined ? error === null && <Skeleton lines={lines} /> : children(data)}
    </>
  )
}
