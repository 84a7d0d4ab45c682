import { useState } from 'react'
import { forgetLinkToken, linkValues } from '../../session/link-values.ts'
import { useApp, useSession, useSessionStore } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import { Button, LinkButton } from '../../ui/button.tsx'
import { Form } from '../../ui/form.tsx'
import { NarrowPage } from '../../ui/narrow-page.tsx'
import { Stack } from '../../ui/page.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { useAction } from '../../ui/use-action.ts'
import { NoLinkPage } from './no-link-page.tsx'
import { signUpText } from './sign-up-text.ts'

/** Takes effect by a press, not by opening the link: mail filters open links too. */
export function ConfirmEmailPage() {
  const { confirm: text } = useText(signUpText)
  const app = useApp()
  const store = useSessionStore()
  const session = useSession()
  const [token] = useState(linkValues().token)
  const [confirmed, setConfirmed] = useState<string>()
  const confirm = useAction(async () => {
    const { email } = await app.request('POST', '/app/auth/email/confirm', { body: { token: token ?? '' } })
    forgetLinkToken()
    if (session.kind === 'member') store.updateUser({ ...session.user, email, emailVerified: true })
    setConfirmed(email)
  })
  if (token === undefined) return <NoLinkPage title={text.title} />
  return (
    <NarrowPage title={text.title} lede={confirmed === undefined ? text.lede : undefined}>
      {confirmed === undefined ? (
        <Form onSubmit={confirm.run}>
          {confirm.error !== undefined && <ErrorNote error={confirm.error} />}
          <Button type="submit" look="primary" isPending={confirm.isPending}>
            {text.submit}
          </Button>
        </Form>
      ) : (
        <Stack>
          <p role="status">{text.done(confirmed)}</p>
          <LinkButton to="/account" look="primary">
            {text.account}
          </LinkButton>
        </Stack>
      )}
    </NarrowPage>
  )
}
