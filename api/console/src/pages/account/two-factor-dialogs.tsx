import type { App } from 'matte-client/app'
import { useState } from 'react'
import { useApp, useSession, useSessionStore } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { confirmText } from '../../ui/confirm-text.ts'
import { CopyButton, Secret } from '../../ui/copy.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { CheckboxField, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Row, Stack } from '../../ui/page.tsx'
import { PasswordField } from '../../ui/password-field.tsx'
import { saveBlob } from '../../ui/save-blob.ts'
import { ErrorNote } from '../../ui/states.tsx'
import { showNote } from '../../ui/toasts.tsx'
import { uiText } from '../../ui/ui-text.ts'
import { type Action, useAction } from '../../ui/use-action.ts'
import styles from './account.module.css'
import { accountText } from './account-text.ts'
import { ConfirmFields, useConfirmation } from './confirm-fields.tsx'

type DialogProps = { readonly onClose: () => void }

/** After a change of the second factor. */
function useNoteTwoFactor(): (mfaEnabled: boolean) => void {
  const store = useSessionStore()
  const session = useSession()
  return (mfaEnabled) => {
    if (session.kind === 'member') store.updateUser({ ...session.user, mfaEnabled })
  }
}

/** Three steps: password, QR code with a first code, recovery codes. */
export function SetUpDialog({ onClose }: DialogProps) {
  const { mfa: text } = useText(accountText)
  const app = useApp()
  const note = useNoteTwoFactor()
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [setup, setSetup] = useState<App.TwoFactorSetup>()
  const [codes, setCodes] = useState<readonly string[]>()
  const start = useAction(async () => {
    setSetup(await app.request('POST', '/app/auth/2fa/setup', { body: { password } }))
  }, ['password'])
  const enable = useAction(async () => {
    const body = { password, code: code.replaceAll(' ', '') }
    setCodes((await app.request('POST', '/app/auth/2fa/enable', { body })).recoveryCodes)
  }, ['code'])
  // The card behind changes when the codes are saved, so this dialog outlives the change.
  const finish = (): void => {
    onClose()
    note(true)
  }
  if (codes !== undefined) return <CodesDialog codes={codes} onClose={finish} />
  return (
    <Dialog title={text.setupTitle} isOpen onClose={onClose}>
      {setup === undefined ? (
        <PasswordStep password={password} onPassword={setPassword} action={start} onClose={onClose} />
      ) : (
        <CodeStep setup={setup} code={code} onCode={setCode} action={enable} onClose={onClose} />
      )}
    </Dialog>
  )
}

type StepProps = DialogProps & { readonly action: Action<[]> }

type PasswordStepProps = StepProps & {
  readonly password: string
  readonly onPassword: (password: string) => void
}

function PasswordStep({ password, onPassword, action, onClose }: PasswordStepProps) {
  const { mfa: text } = useText(accountText)
  const confirm = useText(confirmText)
  const ui = useText(uiText)
  return (
    <Form onSubmit={action.run}>
      <PasswordField
        label={confirm.password}
        value={password}
        onChange={onPassword}
        error={action.fieldError('password') && confirm.passwordError}
        autoFocus
      />
      {action.error !== undefined && <ErrorNote error={action.error} />}
      <DialogActions>
        <Button onPress={onClose}>{ui.cancel}</Button>
        <Button type="submit" look="primary" isPending={action.isPending}>
          {text.next}
        </Button>
      </DialogActions>
    </Form>
  )
}

type CodeStepProps = StepProps & {
  readonly setup: App.TwoFactorSetup
  readonly code: string
  readonly onCode: (code: string) => void
}

function CodeStep({ setup, code, onCode, action, onClose }: CodeStepProps) {
  const { mfa: text } = useText(accountText)
  const confirm = useText(confirmText)
  const ui = useText(uiText)
  return (
    <Form onSubmit={action.run}>
      <p>{text.scan}</p>
      {/* As an image, so nothing in the SVG can run. */}
      <img className={styles.qr} src={`data:image/svg+xml,${encodeURIComponent(setup.qrCodeSvg)}`} alt={text.qr} />
      <p>{text.manual}</p>
      <Secret label={text.manual} value={setup.secret} />
      <TextField
        label={text.code}
        hint={text.codeHint}
        name="code"
        autoComplete="one-time-code"
        inputMode="numeric"
        value={code}
        onChange={onCode}
        error={action.fieldError('code') && confirm.codeError}
        isRequired
        autoFocus
      />
      {action.error !== undefined && <ErrorNote error={action.error} />}
      <DialogActions>
        <Button onPress={onClose}>{ui.cancel}</Button>
        <Button type="submit" look="primary" isPending={action.isPending}>
          {text.finish}
        </Button>
      </DialogActions>
    </Form>
  )
}

/** Closes only by its button, because the codes are not shown again. */
function CodesDialog({ codes, onClose }: DialogProps & { readonly codes: readonly string[] }) {
  const { mfa: text } = useText(accountText)
  const [isSaved, setIsSaved] = useState(false)
  const lines = codes.join('\n')
  return (
    <Dialog title={text.codesTitle} isOpen onClose={() => undefined} isAlert>
      <Stack>
        <p>{text.codesLede}</p>
        <ol className={styles.codes}>
          {codes.map((code) => (
            <li key={code}>
              <code>{code}</code>
            </li>
          ))}
        </ol>
        <Row>
          <CopyButton value={lines}>{text.copy}</CopyButton>
          <Button
            size="small"
            onPress={() => saveBlob(new Blob([`${lines}\n`], { type: 'text/plain' }), 'matte-recovery-codes.txt')}
          >
            {text.download}
          </Button>
        </Row>
        <CheckboxField isSelected={isSaved} onChange={setIsSaved}>
          {text.saved}
        </CheckboxField>
        <DialogActions>
          <Button look="primary" isDisabled={!isSaved} onPress={onClose}>
            {text.done}
          </Button>
        </DialogActions>
      </Stack>
    </Dialog>
  )
}

export function NewCodesDialog({ onClose }: DialogProps) {
  const { mfa: text } = useText(accountText)
  const ui = useText(uiText)
  const app = useApp()
  const confirmation = useConfirmation()
  const [codes, setCodes] = useState<readonly string[]>()
  const create = useAction(async () => {
    const body = { code: '', ...confirmation.body }
    setCodes((await app.request('POST', '/app/auth/2fa/recovery-codes', { body })).recoveryCodes)
  }, ['password', 'code'])
  if (codes !== undefined) return <CodesDialog codes={codes} onClose={onClose} />
  return (
    <Dialog title={text.newCodes} isOpen onClose={onClose}>
      <Form onSubmit={create.run}>
        <p>{text.newCodesLede}</p>
        <ConfirmFields
          value={confirmation.value}
          onChange={confirmation.setValue}
          fieldError={create.fieldError}
          needsCode
        />
        {create.error !== undefined && <ErrorNote error={create.error} />}
        <DialogActions>
          <Button onPress={onClose}>{ui.cancel}</Button>
          <Button type="submit" look="primary" isPending={create.isPending}>
            {text.newCodes}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}

export function DisableDialog({ onClose }: DialogProps) {
  const { mfa: text } = useText(accountText)
  const ui = useText(uiText)
  const app = useApp()
  const note = useNoteTwoFactor()
  const confirmation = useConfirmation()
  const disable = useAction(async () => {
    await app.request('POST', '/app/auth/2fa/disable', { body: { code: '', ...confirmation.body } })
    onClose()
    note(false)
    showNote(text.disabled)
  }, ['password', 'code'])
  return (
    <Dialog title={text.disableTitle} isOpen onClose={onClose}>
      <Form onSubmit={disable.run}>
        <p>{text.about}</p>
        <ConfirmFields
          value={confirmation.value}
          onChange={confirmation.setValue}
          fieldError={disable.fieldError}
          needsCode
        />
        {disable.error !== undefined && <ErrorNote error={disable.error} />}
        <DialogActions>
          <Button onPress={onClose}>{ui.cancel}</Button>
          <Button type="submit" look="danger" isPending={disable.isPending}>
            {text.disable}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
