import { AccountForm } from '../pages/sign-in/account-form.tsx'
import type { Member } from '../session/session.ts'
import { useSessionStore } from '../session/use-session.ts'
import { useText } from '../text/text.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { shellText } from './shell-text.ts'

/** Lies over the page, which keeps what the person was doing. */
export function ExpiredDialog({ session }: { readonly session: Member }) {
  const text = useText(shellText)
  const store = useSessionStore()
  return (
    <Dialog title={text.expired.title} isOpen onClose={() => undefined} isAlert>
      <p>{text.expired.lede}</p>
      <AccountForm knownEmail={session.user.email} />
      <Button look="quiet" onPress={store.leave}>
        {text.expired.other}
      </Button>
    </Dialog>
  )
}
