import { useQueryClient } from '@tanstack/react-query'
import type { App } from 'matte-client/app'
import { useState } from 'react'
import { useApp, useSessionStore } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog, Dialog, DialogActions } from '../../ui/dialog.tsx'
import { CheckboxField, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Card, Row, Stack } from '../../ui/page.tsx'
import { PasswordField } from '../../ui/password-field.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { showNote } from '../../ui/toasts.tsx'
import { uiText } from '../../ui/ui-text.ts'
import { useAction } from '../../ui/use-action.ts'
import { managesMembers, parseLimit } from './member-rules.ts'
import { RetentionCard } from './retention-card.tsx'
import styles from './team.module.css'
import { teamText } from './team-text.ts'

type TeamProps = { readonly team: App.Team }

export const SettingsTab = ({ team, userId }: TeamProps & { readonly userId: string }) => (
  <Stack>
    {team.role === 'owner' ? (
      <>
        <RenameCard team={team} />
        <KeyPolicyCard team={team} />
        <RetentionCard />
        <DeleteCard team={team} />
      </>
    ) : (
      <>
        {managesMembers(team.role) && (
          <>
            <KeyPolicyCard team={team} />
            <RetentionCard />
          </>
        )}
        <LeaveCard team={team} userId={userId} />
      </>
    )}
  </Stack>
)

function KeyPolicyCard({ team }: TeamProps) {
  const { settings: text } = useText(teamText)
  const app = useApp()
  const queries = useQueryClient()
  const [typed, setTyped] = useState(team.maxKeyDays === null ? '' : String(team.maxKeyDays))
  const maxKeyDays = parseLimit(typed)
  const save = useAction(async () => {
    if (maxKeyDays === undefined) return
    await app.request('PUT', '/app/teams/{teamId}/key-policy', { path: { teamId: team.id }, body: { maxKeyDays } })
    await queries.invalidateQueries({ queryKey: ['team', team.id] })
    showNote(text.saved)
  }, ['maxKeyDays'])
  const isWrong = maxKeyDays === undefined || save.fieldError('maxKeyDays') !== undefined
  return (
    <Card title={text.keyPolicy}>
      <div className={styles.form}>
        <Form onSubmit={save.run}>
          <TextField
            label={text.maxKeyDays}
            hint={text.maxKeyDaysHint}
            autoComplete="off"
            inputMode="numeric"
            value={typed}
            onChange={setTyped}
            error={isWrong ? text.maxKeyDaysError : undefined}
          />
          {save.error !== undefined && <ErrorNote error={save.error} />}
          <Row>
            <Button type="submit" look="primary" isPending={save.isPending}>
              {text.saveKeyPolicy}
            </Button>
          </Row>
        </Form>
      </div>
    </Card>
  )
}

function RenameCard({ team }: TeamProps) {
  const { settings: text, create } = useText(teamText)
  const app = useApp()
  const queries = useQueryClient()
  const [name, setName] = useState(team.name)
  const rename = useAction(async () => {
    const body = { name: name.trim() }
    await app.request('PATCH', '/app/teams/{teamId}', { path: { teamId: team.id }, body })
    void queries.invalidateQueries({ queryKey: ['workspaces'] })
    await queries.invalidateQueries({ queryKey: ['team', team.id] })
    showNote(text.saved)
  }, ['name'])
  return (
    <Card title={text.rename}>
      <div className={styles.form}>
        <Form onSubmit={rename.run}>
          <TextField
            label={create.name}
            hint={create.nameHint}
            autoComplete="off"
            value={name}
            onChange={setName}
            error={rename.fieldError('name') && create.nameError}
            maxLength={80}
          />
          {rename.error !== undefined && <ErrorNote error={rename.error} />}
          <Row>
            <Button type="submit" look="primary" isPending={rename.isPending}>
              {text.save}
            </Button>
          </Row>
        </Form>
      </div>
    </Card>
  )
}

/** After the end of the membership the service continues the session in the personal workspace. */
function useGoOn(): () => Promise<void> {
  const store = useSessionStore()
  const queries = useQueryClient()
  return async () => {
    await store.renew()
    void queries.invalidateQueries({ queryKey: ['workspaces'] })
  }
}

function LeaveCard({ team, userId }: TeamProps & { readonly userId: string }) {
  const { settings: text, members } = useText(teamText)
  const app = useApp()
  const goOn = useGoOn()
  const [isAsking, setIsAsking] = useState(false)
  const leave = async (): Promise<void> => {
    await app.request('DELETE', '/app/teams/{teamId}/members/{userId}', { path: { teamId: team.id, userId } })
    await goOn()
  }
  return (
    <Card title={text.leaveTitle}>
      <Stack>
        <p>{members.leaveLede}</p>
        <Row>
          <Button look="danger" onPress={() => setIsAsking(true)}>
            {members.leave}
          </Button>
        </Row>
      </Stack>
      <ConfirmDialog
        title={members.leaveTitle}
        action={members.leave}
        isOpen={isAsking}
        onClose={() => setIsAsking(false)}
        onConfirm={leave}
      >
        {members.leaveLede}
      </ConfirmDialog>
    </Card>
  )
}

function DeleteCard({ team }: TeamProps) {
  const { settings: text } = useText(teamText)
  const [isAsking, setIsAsking] = useState(false)
  return (
    <Card title={text.deleteTitle}>
      <Stack>
        <p>{text.deleteLede}</p>
        <Row>
          <Button look="danger" onPress={() => setIsAsking(true)}>
            {text.delete}
          </Button>
        </Row>
      </Stack>
      {isAsking && <DeleteDialog team={team} onClose={() => setIsAsking(false)} />}
    </Card>
  )
}

function DeleteDialog({ team, onClose }: TeamProps & { readonly onClose: () => void }) {
  const { settings: text } = useText(teamText)
  const ui = useText(uiText)
  const app = useApp()
  const goOn = useGoOn()
  const [password, setPassword] = useState('')
  const [confirmCreditLoss, setConfirmCreditLoss] = useState(false)
  const remove = useAction(async () => {
    const body = { password, confirmCreditLoss }
    await app.request('DELETE', '/app/teams/{teamId}', { path: { teamId: team.id }, body })
    onClose()
    await goOn()
  }, ['password'])
  return (
    <Dialog title={`${text.deleteTitle}: ${team.name}`} isOpen onClose={onClose}>
      <Form onSubmit={remove.run}>
        <p>{text.deleteLede}</p>
        <PasswordField
          label={text.password}
          value={password}
          onChange={setPassword}
          error={remove.fieldError('password') && text.passwordError}
          autoFocus
        />
        <CheckboxField isSelected={confirmCreditLoss} onChange={setConfirmCreditLoss}>
          {text.loss}
        </CheckboxField>
        {remove.error !== undefined && <ErrorNote error={remove.error} />}
        <DialogActions>
          <Button onPress={onClose}>{ui.cancel}</Button>
          <Button type="submit" look="danger" isPending={remove.isPending}>
            {text.delete}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
