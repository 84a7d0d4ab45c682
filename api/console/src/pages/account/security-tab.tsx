import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { User } from '../../session/session.ts'
import { useApp } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { confirmText } from '../../ui/confirm-text.ts'
import { CheckboxField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Card, Row, Stack } from '../../ui/page.tsx'
import { NewPasswordField, PasswordField } from '../../ui/password-field.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { Badge } from '../../ui/status.tsx'
import { showNote } from '../../ui/toasts.tsx'
import { useAction } from '../../ui/use-action.ts'
import styles from './account.module.css'
import { accountText } from './account-text.ts'
import { DisableDialog, NewCodesDialog, SetUpDialog } from './two-factor-dialogs.tsx'

type UserProps = { readonly user: User }

export const SecurityTab = ({ user }: UserProps) => (
  <Stack>
    <TwoFactorCard user={user} />
    <PasswordCard user={user} />
  </Stack>
)

function TwoFactorCard({ user }: UserProps) {
  const { mfa: text } = useText(accountText)
  const [open, setOpen] = useState<'setUp' | 'disable' | 'newCodes'>()
  const close = (): void => setOpen(undefined)
  const isOn = user.mfaEnabled
  return (
    <Card title={text.title} actions={<Badge tone={isOn ? 'good' : 'neutral'}>{isOn ? text.on : text.off}</Badge>}>
      <Stack>
        <p>{isOn ? text.aboutOn : text.about}</p>
        <Row>
          {isOn ? (
            <>
              <Button onPress={() => setOpen('newCodes')}>{text.newCodes}</Button>
              <Button look="danger" onPress={() => setOpen('disable')}>
                {text.disable}
              </Button>
            </>
          ) : (
            <Button look="primary" onPress={() => setOpen('setUp')}>
              {text.enable}
            </Button>
          )}
        </Row>
      </Stack>
      {open === 'setUp' && <SetUpDialog onClose={close} />}
      {open === 'disable' && <DisableDialog onClose={close} />}
      {open === 'newCodes' && <NewCodesDialog onClose={close} />}
    </Card>
  )
}

function PasswordCard({ user }: UserProps) {
  const { password: text } = useText(accountText)
  const confirm = useText(confirmText)
  const app = useApp()
  const queries = useQueryClient()
  const [currentPassword, setCurrentPassword] = useState('')
  const [newPassword, setNewPassword] = useState('')
  const [endOtherSessions, setEndOtherSessions] = useState(true)
  const change = useAction(async () => {
    const body = { currentPassword, newPassword, endOtherSessions }
    await app.request('POST', '/app/auth/password/change', { body })
    setCurrentPassword('')
    setNewPassword('')
    void queries.invalidateQueries({ queryKey: ['sessions'] })
    showNote(text.done)
  }, ['currentPassword', 'newPassword'])
  return (
    <Card title={text.title}>
      <div className={styles.form}>
        <Form onSubmit={change.run}>
          {/* Tells a password manager whose password changes. */}
          <input type="text" name="username" autoComplete="username" value={user.email} readOnly hidden />
          <PasswordField
            label={text.current}
            value={currentPassword}
            onChange={setCurrentPassword}
            error={change.fieldError('currentPassword') && confirm.passwordError}
          />
          <NewPasswordField value={newPassword} onChange={setNewPassword} error={change.fieldError('newPassword')} />
          <CheckboxField isSelected={endOtherSessions} onChange={setEndOtherSessions}>
            {text.endOthers}
          </CheckboxField>
          {change.error !== undefined && <ErrorNote error={change.error} />}
          <Row>
            <Button type="submit" look="primary" isPending={change.isPending}>
              {text.submit}
            </Button>
          </Row>
        </Form>
      </div>
    </Card>
  )
}
