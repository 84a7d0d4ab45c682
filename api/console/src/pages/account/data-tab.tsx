import { useState } from 'react'
import type { User } from '../../session/session.ts'
import { useApp, useSessionStore } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { Form } from '../../ui/form.tsx'
import { Card, Row, Stack } from '../../ui/page.tsx'
import { saveBlob } from '../../ui/save-blob.ts'
import { ErrorNote } from '../../ui/states.tsx'
import { uiText } from '../../ui/ui-text.ts'
import { useAction } from '../../ui/use-action.ts'
import { accountText } from './account-text.ts'
import { ConfirmFields, useConfirmation } from './confirm-fields.tsx'

type UserProps = { readonly user: User }

export const DataTab = ({ user }: UserProps) => (
  <Stack>
    <ExportCard />
    <DeleteCard user={user} />
  </Stack>
)

function ExportCard() {
  const { data: text } = useText(accountText)
  const app = useApp()
  const save = useAction(async () => {
    const data = await app.request('GET', '/app/users/export')
    saveBlob(new Blob([`${JSON.stringify(data, undefined, 2)}\n`], { type: 'application/json' }), 'matte-export.json')
  })
  return (
    <Card title={text.exportTitle}>
      <Stack>
        <p>{text.exportLede}</p>
        {save.error !== undefined && <ErrorNote error={save.error} />}
        <Row>
          <Button onPress={() => void save.run()} isPending={save.isPending}>
            {save.isPending ? text.exporting : text.export}
          </Button>
        </Row>
      </Stack>
    </Card>
  )
}

function DeleteCard({ user }: UserProps) {
  const { data: text } = useText(accountText)
  const [isOpen, setIsOpen] = useState(false)
  return (
    <Card title={text.deleteTitle}>
      <Stack>
        <p>{text.deleteLede}</p>
        <Row>
          <Button look="danger" onPress={() => setIsOpen(true)}>
            {text.delete}
          </Button>
        </Row>
      </Stack>
      {isOpen && <DeleteDialog user={user} onClose={() => setIsOpen(false)} />}
    </Card>
  )
}

function DeleteDialog({ user, onClose }: UserProps & { readonly onClose: () => void }) {
  const { data: text } = useText(accountText)
  const ui = useText(uiText)
  const app = useApp()
  const store = useSessionStore()
  const confirmation = useConfirmation()
  const erase = useAction(async () => {
    await app.request('DELETE', '/app/users/profile', { body: confirmation.body })
    store.leave()
  }, ['password', 'code'])
  return (
    <Dialog title={text.deleteTitle} isOpen onClose={onClose}>
      <Form onSubmit={erase.run}>
        <p>{text.deleteAsk}</p>
        <ConfirmFields
          value={confirmation.value}
          onChange={confirmation.setValue}
          fieldError={erase.fieldError}
          needsCode={user.mfaEnabled}
        />
        {erase.error !== undefined && <ErrorNote error={erase.error} />}
        <DialogActions>
          <Button onPress={onClose}>{ui.cancel}</Button>
          <Button type="submit" look="danger" isPending={erase.isPending}>
            {text.delete}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
