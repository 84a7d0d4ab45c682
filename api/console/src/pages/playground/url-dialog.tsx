import { useState } from 'react'
import { useService } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { uiText } from '../../ui/ui-text.ts'
import { useAction } from '../../ui/use-action.ts'
import { playgroundText } from './playground-text.ts'

type UrlProps = { readonly onClose: () => void; readonly onUploaded: (objectKey: string, name: string) => void }

/** The service fetches the photo, since the page may open no other origin. */
export function UrlDialog({ onClose, onUploaded }: UrlProps) {
  const service = useService()
  const text = useText(playgroundText)
  const ui = useText(uiText)
  const [url, setUrl] = useState('')
  const fetchImage = useAction(async () => {
    const { objectKey } = await service.uploads.fetch(url)
    onUploaded(objectKey, new URL(url).pathname.split('/').at(-1) || 'photo')
    onClose()
  }, ['url'])
  return (
    <Dialog title={text.fromUrl} isOpen onClose={onClose}>
      <Form onSubmit={fetchImage.run}>
        <TextField
          label={text.urlLabel}
          type="url"
          value={url}
          onChange={setUrl}
          error={fetchImage.fieldError('url')}
          isRequired
          autoFocus
        />
        {fetchImage.error !== undefined && <ErrorNote error={fetchImage.error} />}
        <DialogActions>
          <Button onPress={onClose}>{ui.cancel}</Button>
          <Button type="submit" look="primary" isPending={fetchImage.isPending}>
            {text.urlSubmit}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
