import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useApp } from '../../session/use-session.ts'
import { settingsQuery } from '../../settings.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { FormLinks, NarrowPage } from '../../ui/narrow-page.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { useAction } from '../../ui/use-action.ts'
import { signUpText } from './sign-up-text.ts'

export function ForgotPasswordPage() {
  const { forgot: text, signUp } = useText(signUpText)
  const app = useApp()
  const { data: settings } = useQuery(settingsQuery)
  const [email, setEmail] = useState('')
  const [sentTo, setSentTo] = useState<string>()
  const send = useAction(async () => {
    await app.request('POST', '/app/auth/password/forgot', { body: { email: email.trim() } })
    setSentTo(email.trim())
  }, ['email'])
  if (settings?.passwordReset === false) {
    return (
      <NarrowPage title={text.title}>
        <p>{text.off}</p>
      </NarrowPage>
    )
  }
  return (
    <NarrowPage title={text.title} lede={text.lede}>
      <Form onSubmit={send.run}>
        <TextField
          label={signUp.email}
          type="email"
          name="email"
          autoComplete="username"
          value={email}
          onChange={setEmail}
          error={send.fieldError('email') && signUp.emailError}
          isRequired
        />
        {send.error !== undefined && <ErrorNote error={send.error} />}
        {sentTo !== undefined && <p role="status">{text.sent(sentTo)}</p>}
        <Button type="submit" look="primary" isPending={send.isPending}>
          {text.submit}
        </Button>
        <FormLinks>
          <Link to="/sign-in">{text.back}</Link>
        </FormLinks>
      </Form>
    </NarrowPage>
  )
}
