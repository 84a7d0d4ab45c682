import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useSwitchWorkspace } from '../../app/use-switch-workspace.ts'
import { useApp } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { uiText } from '../../ui/ui-text.ts'
import { useAction } from '../../ui/use-action.ts'
import { teamText } from './team-text.ts'

/** Creates a team and opens it. A second press after a lost answer creates no second team. */
export function CreateTeamDialog({ onClose }: { readonly onClose: () => void }) {
  const { create: text } = useText(teamText)
  const ui = useText(uiText)
  const app = useApp()
  const queries = useQueryClient()
  const switchTo = useSwitchWorkspace()
  const [name, setName] = useState('')
  const [attempt, setAttempt] = useState(() => ({ name: '', key: crypto.randomUUID() }))
  const create = useAction(async () => {
    const wanted = name.trim()
    const key = attempt.name === wanted ? attempt.key : crypto.randomUUID()
    setAttempt({ name: wanted, key })
    const { id } = await app.request('POST', '/app/teams', { body: { name: wanted }, idempotencyKey: key })
    void queries.invalidateQueries({ queryKey: ['workspaces'] })
    onClose()
    await switchTo(id)
  }, ['name'])
  return (
    <Dialog title={text.title} isOpen onClose={onClose}>
      <Form onSubmit={create.run}>
        <TextField
          label={text.name}
          hint={text.nameHint}
          name="organization"
          autoComplete="off"
          value={name}
          onChange={setName}
          error={create.fieldError('name') && text.nameError}
          maxLength={80}
          isRequired
          autoFocus
        />
        {create.error !== undefined && <ErrorNote error={create.error} />}
        <DialogActions>
          <Button onPress={onClose}>{ui.cancel}</Button>
          <Button type="submit" look="primary" isPending={create.isPending}>
            {text.submit}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
