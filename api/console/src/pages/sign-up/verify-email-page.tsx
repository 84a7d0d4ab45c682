import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { forgetLinkToken, linkValues } from '../../session/link-values.ts'
import { useApp, useSessionStore } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Form } from '../../ui/form.tsx'
import { FormLinks, NarrowPage } from '../../ui/narrow-page.tsx'
import { PasswordField } from '../../ui/password-field.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { useAction } from '../../ui/use-action.ts'
import { signInText } from '../sign-in/sign-in-text.ts'
import { ResendForm } from './resend-form.tsx'
import { signUpText } from './sign-up-text.ts'

export function VerifyEmailPage() {
  const { verify: text, sent } = useText(signUpText)
  const [token, setToken] = useState(linkValues().token)
  if (token === undefined) {
    return (
      <NarrowPage title={sent.title} lede={sent.unknown}>
        <ResendForm />
      </NarrowPage>
    )
  }
  return (
    <NarrowPage title={text.title} lede={text.lede}>
      <VerifyForm token={token} onNewLink={() => setToken(undefined)} />
    </NarrowPage>
  )
}

/** The password of the registration proves that the reader of the mail also registered. */
function VerifyForm({ token, onNewLink }: { readonly token: string; readonly onNewLink: () => void }) {
  const { verify: text } = useText(signUpText)
  const signIn = useText(signInText)
  const app = useApp()
  const store = useSessionStore()
  const navigate = useNavigate()
  const [password, setPassword] = useState('')
  const verify = useAction(async () => {
    const body = { token, password, session: 'cookie' as const }
    await store.signIn(await app.request('POST', '/app/auth/verify-email', { body }))
    forgetLinkToken()
    await navigate({ to: '/' })
  }, ['password'])
  return (
    <Form onSubmit={verify.run}>
      <PasswordField
        label={signIn.password}
        value={password}
        onChange={setPassword}
        error={verify.fieldError('password') && text.passwordError}
        autoFocus
      />
      {verify.error !== undefined && <ErrorNote error={verify.error} />}
      <Button type="submit" look="primary" isPending={verify.isPending}>
        {text.submit}
      </Button>
      <FormLinks>
        <Link to="/forgot-password">{text.forgot}</Link>
      </FormLinks>
      {verify.error !== undefined && (
        <Button size="small" onPress={onNewLink}>
          {text.failed}
        </Button>
      )}
    </Form>
  )
}
