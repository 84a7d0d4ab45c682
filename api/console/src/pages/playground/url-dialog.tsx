import { useState } from 'react'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { uiText } from '../../ui/ui-text.ts'
import { useAction } from '../../ui/use-action.ts'
import { playgroundText } from './playground-text.ts'

type UrlProps = { readonly onClose: () => void; readonly onPhoto: (blob: Blob, name: string) => void }

export function UrlDialog({ onClose, onPhoto }: UrlProps) {
  const text = useText(playgroundText)
  const ui = useText(uiText)
  const [url, setUrl] = useState('')
  const fetchImage = useAction(async () => {
    const response = await fetch(url)
    onPhoto(await response.blob(), new URL(url).pathname.split('/').at(-1) || 'photo')
    onClose()
  })
  return (
    <Dialog title={text.fromUrl} isOpen onClose={onClose}>
      <Form onSubmit={fetchImage.run}>
        <TextField label={text.urlLabel} type="url" value={url} onChange={setUrl} isRequired autoFocus />
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
