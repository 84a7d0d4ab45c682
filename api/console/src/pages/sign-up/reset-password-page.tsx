import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { forgetLinkToken, linkValues } from '../../session/link-values.ts'
import { useApp, useSessionStore } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import { Button, LinkButton } from '../../ui/button.tsx'
import { Form } from '../../ui/form.tsx'
import { FormLinks, NarrowPage } from '../../ui/narrow-page.tsx'
import { Stack } from '../../ui/page.tsx'
import { NewPasswordField } from '../../ui/password-field.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { useAction } from '../../ui/use-action.ts'
import { NoLinkPage } from './no-link-page.tsx'
import { signUpText } from './sign-up-text.ts'

export function ResetPasswordPage() {
  const { reset: text, noLink } = useText(signUpText)
  const app = useApp()
  const store = useSessionStore()
  const [token] = useState(linkValues().token)
  const [newPassword, setNewPassword] = useState('')
  const [isDone, setIsDone] = useState(false)
  const reset = useAction(async () => {
    await app.request('POST', '/app/auth/password/reset', { body: { token: token ?? '', newPassword } })
    forgetLinkToken()
    // A session of this account has ended with the old password.
    await store.start()
    setIsDone(true)
  }, ['newPassword'])
  if (token === undefined) {
    return (
      <NoLinkPage title={text.title}>
        <FormLinks>
          <Link to="/forgot-password">{noLink.newOne}</Link>
        </FormLinks>
      </NoLinkPage>
    )
  }
  if (isDone) {
    return (
      <NarrowPage title={text.title}>
        <Stack>
          <p role="status">{text.done}</p>
          <LinkButton to="/sign-in" look="primary">
            {text.signIn}
          </LinkButton>
        </Stack>
      </NarrowPage>
    )
  }
  return (
    <NarrowPage title={text.title} lede={text.lede}>
      <Form onSubmit={reset.run}>
        <NewPasswordField
          value={newPassword}
          onChange={setNewPassword}
          error={reset.fieldError('newPassword')}
          autoFocus
        />
        {reset.error !== undefined && <ErrorNote error={reset.error} />}
        <Button type="submit" look="primary" isPending={reset.isPending}>
          {text.submit}
        </Button>
        {reset.error !== undefined && (
          <FormLinks>
            <Link to="/forgot-password">{noLink.newOne}</Link>
          </FormLinks>
        )}
      </Form>
    </NarrowPage>
  )
}
