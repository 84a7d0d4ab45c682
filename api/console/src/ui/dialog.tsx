import { type ReactNode, useState } from 'react'
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { useText } from '../text/text.ts'
import { Button } from './button.tsx'
import styles from './dialog.module.css'
import { ErrorNote } from './states.tsx'
import { uiText } from './ui-text.ts'

type DialogProps = {
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly children: ReactNode
  /** A dialog that asks for a decision. */
  readonly isAlert?: boolean
  readonly isWide?: boolean
}

/** A modal dialog. Escape, and a press outside of it, close it. */
export const Dialog = ({ title, isOpen, onClose, children, isAlert = false, isWide = false }: DialogProps) => (
  <ModalOverlay
    className={styles.overlay}
    data-modal
    isOpen={isOpen}
    onOpenChange={(open) => !open && onClose()}
    isDismissable={!isAlert}
  >
    <Modal className={`${styles.modal} ${isWide ? styles.wide : ''}`}>
      <AriaDialog className={styles.dialog} role={isAlert ? 'alertdialog' : 'dialog'}>
        <Heading slot="title" level={2} className={styles.title}>
          {title}
        </Heading>
        {children}
      </AriaDialog>
    </Modal>
  </ModalOverlay>
)

export const DialogActions = ({ children }: { readonly children: ReactNode }) => (
  <div className={styles.actions}>{children}</div>
)

type ConfirmProps = {
  readonly title: string
  readonly children: ReactNode
  /** Names the deed, such as "Delete key". */
  readonly action: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onConfirm: () => Promise<unknown>
}

/** Asks before a deed that cannot be undone. Stays open with the error if it is refused. */
export function ConfirmDialog({ title, children, action, isOpen, onClose, onConfirm }: ConfirmProps) {
  const text = useText(uiText)
  const [isPending, setIsPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const confirm = async (): Promise<void> => {
    setIsPending(true)
    setError(undefined)
    try {
      await onConfirm()
      onClose()
    } catch (cause) {
      setError(cause)
    } finally {
      setIsPending(false)
    }
  }
  return (
    <Dialog title={title} isOpen={isOpen} onClose={onClose} isAlert>
      <div>{children}</div>
      {error !== undefined && <ErrorNote error={error} />}
      <DialogActions>
        <Button onPress={onClose} autoFocus>
          {text.cancel}
        </Button>
        <Button look="danger" isPending={isPending} onPress={() => void confirm()}>
          {action}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
