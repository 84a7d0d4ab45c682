import { useState } from 'react'
import type { ProofRequest } from '../session/proof-request.ts'
import { useApp } from '../session/use-session.ts'
import { useText } from '../text/text.ts'
import { Button } from '../ui/button.tsx'
import { confirmText } from '../ui/confirm-text.ts'
import { Dialog, DialogActions } from '../ui/dialog.tsx'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { PasswordField } from '../ui/password-field.tsx'
import { ErrorNote } from '../ui/states.tsx'
import { uiText } from '../ui/ui-text.ts'
import { useAction } from '../ui/use-action.ts'
import { shellText } from './shell-text.ts'

/** Lies over the page. The request that the service refused goes on after it. */
export function ProofDialog({ request }: { readonly request: ProofRequest }) {
  const { proof: text } = useText(shellText)
  const confirm = useText(confirmText)
  const ui = useText(uiText)
  const app = useApp()
  const [byCode, setByCode] = useState(!request.fields.includes('password'))
  const [value, setValue] = useState('')
  const prove = useAction(async () => {
    await app.prove(byCode ? { code: value.replaceAll(' ', '') } : { password: value })
    request.settle(true)
  }, ['password', 'code'])
  const change = (): void => {
    prove.reset()
    setValue('')
    setByCode(!byCode)
  }
  return (
    <Dialog title={text.title} isOpen onClose={() => request.settle(false)}>
      <Form onSubmit={prove.run}>
        <p>{text.lede}</p>
        {byCode ? (
          <TextField
            key="code"
            label={confirm.code}
            hint={confirm.codeHint}
            name="code"
            autoComplete="one-time-code"
            value={value}
            onChange={setValue}
            error={prove.fieldError('code') && confirm.codeError}
            isRequired
            autoFocus
          />
        ) : (
          <PasswordField
            key="password"
            label={confirm.password}
            value={value}
            onChange={setValue}
            error={prove.fieldError('password') && confirm.passwordError}
            autoFocus
          />
        )}
        {prove.error !== undefined && <ErrorNote error={prove.error} />}
        {request.fields.length > 1 && (
          <Button look="quiet" onPress={change}>
            {byCode ? text.usePassword : text.useCode}
          </Button>
        )}
        <DialogActions>
          <Button onPress={() => request.settle(false)}>{ui.cancel}</Button>
          <Button type="submit" look="primary" isPending={prove.isPending}>
            {text.submit}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
