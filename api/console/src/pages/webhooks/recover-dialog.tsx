import { useQueryClient } from '@tanstack/react-query'
import type { WebhookEndpoint } from 'matte-client'
import { useState } from 'react'
import { useService } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { showNote } from '../../ui/toasts.tsx'
import { uiText } from '../../ui/ui-text.ts'
import { useAction } from '../../ui/use-action.ts'
import { webhooksText } from './webhooks-text.ts'

const dayMs = 86_400_000

/** `YYYY-MM-DDTHH:MM` of local time, as the input has it. */
const toInput = (ms: number): string =>
  new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)

type RecoverProps = { readonly endpoint: WebhookEndpoint; readonly onClose: () => void }

/** Counts first, then sends again what failed or was paused in a range of time. */
export function RecoverDialog({ endpoint, onClose }: RecoverProps) {
  const service = useService()
  const queries = useQueryClient()
  const text = useText(webhooksText)
  const ui = useText(uiText)
  const format = useFormat()
  const begin = endpoint.pausedSince === null ? Date.now() - dayMs : Date.parse(endpoint.pausedSince)
  const [since, setSince] = useState(toInput(begin))
  const [until, setUntil] = useState('')
  const [count, setCount] = useState<number>()
  const range = () => ({
    since: new Date(since).toISOString(),
    ...(until !== '' && { until: new Date(until).toISOString() }),
  })
  const recover = useAction(async () => {
    if (count === undefined) {
      setCount((await service.webhooks.recover(endpoint.id, { ...range(), dryRun: true })).count)
      return
    }
    const { count: sent } = await service.webhooks.recover(endpoint.id, range())
    showNote(text.recovered(format.number(sent)))
    void queries.invalidateQueries({ queryKey: ['deliveries', endpoint.id] })
    onClose()
  }, ['since', 'until'])
  const change = (set: (value: string) => void) => (value: string) => {
    set(value)
    setCount(undefined)
  }
  return (
    <Dialog title={text.recover} isOpen onClose={onClose}>
      <Form onSubmit={recover.run}>
        <p>{text.recoverHint}</p>
        <TextField
          label={text.since}
          type="datetime-local"
          value={since}
          onChange={change(setSince)}
          error={recover.fieldError('since')}
          isRequired
        />
        <TextField
          label={text.until}
          type="datetime-local"
          value={until}
          onChange={change(setUntil)}
          error={recover.fieldError('until')}
        />
        <p role="status">{count === undefined ? '' : text.recoverCount(format.number(count))}</p>
        {recover.error !== undefined && <ErrorNote error={recover.error} />}
        <DialogActions>
          <Button onPress={onClose}>{ui.cancel}</Button>
          <Button type="submit" look="primary" isPending={recover.isPending} isDisabled={since === '' || count === 0}>
            {count === undefined ? text.countThem : text.sendThem}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
