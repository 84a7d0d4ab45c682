import { useQueryClient } from '@tanstack/react-query'
import { eventNames } from 'matte-client'
import { useState } from 'react'
import { useService } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { SelectField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { showNote, showProblem } from '../../ui/toasts.tsx'
import { uiText } from '../../ui/ui-text.ts'
import { useAction } from '../../ui/use-action.ts'
import { webhooksText } from './webhooks-text.ts'

const events = eventNames.filter((name) => name !== 'test.webhook')

type SampleProps = { readonly webhookId: string; readonly onClose: () => void }

/** Sends an event with example values to the endpoint. */
export function SampleDialog({ webhookId, onClose }: SampleProps) {
  const service = useService()
  const queries = useQueryClient()
  const text = useText(webhooksText)
  const ui = useText(uiText)
  const format = useFormat()
  const [event, setEvent] = useState<(typeof events)[number]>('task.succeeded')
  const send = useAction(async () => {
    const { attempts } = await service.webhooks.sample(webhookId, event)
    void queries.invalidateQueries({ queryKey: ['deliveries', webhookId] })
    const last = attempts.at(-1)
    if (last?.error != null) showProblem(text.testFailed(text.attemptErrors[last.error], last.statusCode))
    else showNote(text.testDelivered(format.duration(last?.durationMs ?? 0)))
    onClose()
  })
  return (
    <Dialog title={text.sample} isOpen onClose={onClose}>
      <Form onSubmit={send.run}>
        <p>{text.sampleHint}</p>
        <SelectField
          label={text.event}
          value={event}
          onChange={setEvent}
          choices={events.map((value) => ({ value, label: value }))}
        />
        {send.error !== undefined && <ErrorNote error={send.error} />}
        <DialogActions>
          <Button onPress={onClose}>{ui.cancel}</Button>
          <Button type="submit" look="primary" isPending={send.isPending}>
            {text.send}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
