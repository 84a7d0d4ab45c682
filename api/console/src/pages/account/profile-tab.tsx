import { useState } from 'react'
import { chooseLocale } from '../../app/page-locale.ts'
import type { User } from '../../session/session.ts'
import { useApp, useSessionStore } from '../../session/use-session.ts'
import { isLocale, type Locale, useLocale, useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Card, Row, Stack } from '../../ui/page.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { showNote } from '../../ui/toasts.tsx'
import { uiText } from '../../ui/ui-text.ts'
import { useAction } from '../../ui/use-action.ts'
import styles from './account.module.css'
import { accountText } from './account-text.ts'
import { ConfirmFields, useConfirmation } from './confirm-fields.tsx'

const languages = [
  { value: 'en', label: 'English' },
  { value: 'de', label: 'Deutsch' },
] as const

type UserProps = { readonly user: User }

export const ProfileTab = ({ user }: UserProps) => (
  <Stack>
    <ProfileCard user={user} />
    <EmailCard user={user} />
  </Stack>
)

function ProfileCard({ user }: UserProps) {
  const { profile: text, save: saveLabel, saved } = useText(accountText)
  const pageLocale = useLocale()
  const app = useApp()
  const store = useSessionStore()
  const [name, setName] = useState(user.name ?? '')
  const ofUser = user.locale.slice(0, 2)
  const [locale, setLocale] = useState<Locale>(isLocale(ofUser) ? ofUser : pageLocale)
  const [timeZone, setTimeZone] = useState(user.timeZone)
  const save = useAction(async () => {
    // A regional form, such as de-AT, stays while its language stays.
    const body = { name: name.trim(), timeZone, locale: locale === ofUser ? user.locale : locale }
    store.updateUser(await app.request('PATCH', '/app/users/profile', { body }))
    chooseLocale(undefined)
    showNote(saved)
  }, ['name', 'locale', 'timeZone'])
  return (
    <Card title={text.title}>
      <div className={styles.form}>
        <Form onSubmit={save.run}>
          <TextField
            label={text.name}
            hint={text.nameHint}
            name="name"
            autoComplete="name"
            value={name}
            onChange={setName}
            error={save.fieldError('name')}
          />
          <SelectField
            label={text.language}
            hint={text.languageHint}
            value={locale}
            onChange={setLocale}
            choices={languages}
            error={save.fieldError('locale')}
          />
          <SelectField
            label={text.timeZone}
            hint={text.timeZoneHint}
            value={timeZone}
            onChange={setTimeZone}
            choices={listTimeZones(user.timeZone)}
            error={save.fieldError('timeZone')}
          />
          {save.error !== undefined && <ErrorNote error={save.error} />}
          <Row>
            <Button type="submit" look="primary" isPending={save.isPending}>
              {saveLabel}
            </Button>
          </Row>
        </Form>
      </div>
    </Card>
  )
}

/** Time zones of the browser, which may lack `UTC` and the one in the profile. */
const listTimeZones = (own: string) =>
  [...new Set([own, 'UTC', ...Intl.supportedValuesOf('timeZone')])]
    .sort()
    .map((value) => ({ value, label: value.replaceAll('_', ' ') }))

function EmailCard({ user }: UserProps) {
  const { profile: text } = useText(accountText)
  const [isOpen, setIsOpen] = useState(false)
  const [sentTo, setSentTo] = useState<string>()
  return (
    <Card title={text.email}>
      <Stack>
        <p>{user.email}</p>
        {sentTo !== undefined && <p role="status">{text.emailSent(sentTo)}</p>}
        <Row>
          <Button onPress={() => setIsOpen(true)}>{text.changeEmail}</Button>
        </Row>
      </Stack>
      {isOpen && <EmailDialog user={user} onClose={() => setIsOpen(false)} onSent={setSentTo} />}
    </Card>
  )
}

type EmailDialogProps = UserProps & { readonly onClose: () => void; readonly onSent: (email: string) => void }

function EmailDialog({ user, onClose, onSent }: EmailDialogProps) {
  const { profile: text } = useText(accountText)
  const ui = useText(uiText)
  const app = useApp()
  const [newEmail, setNewEmail] = useState('')
  const confirmation = useConfirmation()
  const change = useAction(async () => {
    const body = { newEmail: newEmail.trim(), ...confirmation.body }
    await app.request('POST', '/app/auth/email/change', { body })
    onSent(body.newEmail)
    onClose()
  }, ['newEmail', 'password', 'code'])
  return (
    <Dialog title={text.changeEmail} isOpen onClose={onClose}>
      <Form onSubmit={change.run}>
        <TextField
          label={text.newEmail}
          type="email"
          name="email"
          autoComplete="email"
          value={newEmail}
          onChange={setNewEmail}
          error={change.fieldError('newEmail') && text.emailError}
          isRequired
          autoFocus
        />
        <ConfirmFields
          value={confirmation.value}
          onChange={confirmation.setValue}
          fieldError={change.fieldError}
          needsCode={user.mfaEnabled}
        />
        {change.error !== undefined && <ErrorNote error={change.error} />}
        <DialogActions>
          <Button onPress={onClose}>{ui.cancel}</Button>
          <Button type="submit" look="primary" isPending={change.isPending}>
            {text.send}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
