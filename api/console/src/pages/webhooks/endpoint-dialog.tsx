import type { NewWebhookEndpoint, WebhookEndpoint, WebhookRequest } from 'matte-client'
import { eventNames } from 'matte-client'
import { useState } from 'react'
import { useService } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { CheckboxField, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { uiText } from '../../ui/ui-text.ts'
import { useAction } from '../../ui/use-action.ts'
import { useRequestKey } from '../../ui/use-request-key.ts'
import { readHeaders } from './headers.ts'
import styles from './webhooks.module.css'
import { webhooksText } from './webhooks-text.ts'

type EventType = NonNullable<WebhookRequest['eventTypes']>[number]

const subscribable = eventNames.filter((name) => name !== 'test.webhook') as readonly EventType[]

type EndpointDialogProps = {
  /** Absent for a new one. */
  readonly endpoint?: WebhookEndpoint
  readonly onClose: () => void
  readonly onSaved: (endpoint: WebhookEndpoint | NewWebhookEndpoint) => void
}

/** Creates or changes an endpoint. The service never shows values of headers again, so the owner enters them again. */
export function EndpointDialog({ endpoint, onClose, onSaved }: EndpointDialogProps) {
  const service = useService()
  const text = useText(webhooksText)
  const ui = useText(uiText)
  const [targetUrl, setTargetUrl] = useState(endpoint?.targetUrl ?? '')
  const [description, setDescription] = useState(endpoint?.description ?? '')
  const [eventTypes, setEventTypes] = useState<readonly EventType[]>(endpoint?.eventTypes ?? [])
  const [headers, setHeaders] = useState('')
  const keys = useRequestKey()
  const save = useAction(async () => {
    const given = readHeaders(headers)
    const body = { targetUrl, description, eventTypes: [...eventTypes], ...(given !== undefined && { headers: given }) }
    const saved = await (endpoint === undefined
      ? service.webhooks.create(body, { idempotencyKey: keys.keyFor(body) })
      : service.webhooks.update(endpoint.id, body))
    onSaved(saved)
    onClose()
  }, ['targetUrl', 'description', 'eventTypes', 'headers'])
  const patterns = eventTypes.filter((name) => !subscribable.includes(name))
  const shown = [...subscribable, ...patterns]
  const toggle = (name: EventType, isOn: boolean): void =>
    setEventTypes(shown.filter((one) => (one === name ? isOn : eventTypes.includes(one))))
  return (
    <Dialog title={endpoint === undefined ? text.create : text.edit} isOpen onClose={onClose} isWide>
      <Form onSubmit={save.run}>
        <TextField
          label={text.address}
          hint={text.addressHint}
          type="url"
          placeholder="https://example.com/hook"
          value={targetUrl}
          onChange={setTargetUrl}
          error={save.fieldError('targetUrl')}
          isRequired
          autoFocus
        />
        <TextField
          label={text.description}
          value={description}
          onChange={setDescription}
          error={save.fieldError('description')}
        />
        <fieldset className="plain">
          <legend>{text.events}</legend>
          <p className={styles.soft}>{text.eventsHint}</p>
          <div className={styles.events}>
            {shown.map((name) => (
              <CheckboxField key={name} isSelected={eventTypes.includes(name)} onChange={(isOn) => toggle(name, isOn)}>
                <code>{name}</code>
              </CheckboxField>
            ))}
          </div>
        </fieldset>
        <TextField
          label={text.headers}
          hint={endpoint === undefined ? text.headersHint : text.headersKept(Object.keys(endpoint.headers).join(', '))}
          placeholder="Authorization: Bearer …"
          rows={3}
          value={headers}
          onChange={setHeaders}
          error={save.fieldError('headers')}
        />
        {save.error !== undefined && <ErrorNote error={save.error} />}
        <DialogActions>
          <Button onPress={onClose}>{ui.cancel}</Button>
          <Button type="submit" look="primary" isPending={save.isPending}>
            {endpoint === undefined ? text.create : text.save}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
