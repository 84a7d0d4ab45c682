// Short notes at the edge of the page: what was done, and a failure outside of a form.

import { isProofRequired } from 'matte-client/app'
import {
  Text,
  UNSTABLE_Toast as Toast,
  UNSTABLE_ToastContent as ToastContent,
  UNSTABLE_ToastQueue as ToastQueue,
  UNSTABLE_ToastRegion as ToastRegion,
} from 'react-aria-components'
import { toMatteError } from '../matte-error.ts'
import { useText } from '../text/text.ts'
import { IconButton } from './button.tsx'
import styles from './toasts.module.css'
import { uiText } from './ui-text.ts'

type Note = { readonly text: string; readonly isError: boolean }

const queue = new ToastQueue<Note>({ maxVisibleToasts: 3 })

const shownMs = 6_000

export const showNote = (text: string): void => void queue.add({ text, isError: false }, { timeout: shownMs })

/** Stays until it is closed. */
export const showProblem = (text: string): void => void queue.add({ text, isError: true })

/** Shows nothing after a proof that the person canceled. */
export function showError(error: unknown): void {
  if (!isProofRequired(error)) showProblem(toMatteError(error).message)
}

export function Toasts() {
  const text = useText(uiText)
  return (
    <ToastRegion queue={queue} className={styles.region}>
      {({ toast }) => (
        <Toast toast={toast} className={`${styles.toast} ${toast.content.isError ? styles.bad : ''}`}>
          <ToastContent className={styles.content}>
            <Text slot="title">{toast.content.text}</Text>
          </ToastContent>
          <IconButton slot="close" label={text.close}>
            ×
          </IconButton>
        </Toast>
      )}
    </ToastRegion>
  )
}
