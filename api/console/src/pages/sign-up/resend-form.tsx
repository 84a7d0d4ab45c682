import { useState } from 'react'
import { useApp } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { useAction } from '../../ui/use-action.ts'
import { signUpText } from './sign-up-text.ts'

type ResendFormProps = {
  /** Without one the form asks for it. */
  readonly email?: string
}

/** Sends the mail of the registration again. */
export function ResendForm({ email: known }: ResendFormProps) {
  const { sent, signUp } = useText(signUpText)
  const app = useApp()
  const [email, setEmail] = useState(known ?? '')
  const [isSent, setIsSent] = useState(false)
  const resend = useAction(async () => {
    await app.request('POST', '/app/auth/verify-email/resend', { body: { email: email.trim() } })
    setIsSent(true)
  }, ['email'])
  return (
    <Form onSubmit={resend.run}>
      {known === undefined && (
        <TextField
          label={signUp.email}
          type="email"
          name="email"
          autoComplete="email"
          value={email}
          onChange={setEmail}
          error={resend.fieldError('email') && signUp.emailError}
          isRequired
        />
      )}
      {resend.error !== undefined && <ErrorNote error={resend.error} />}
      {isSent && <p role="status">{sent.resent}</p>}
      <Button type="submit" isPending={resend.isPending}>
        {sent.again}
      </Button>
    </Form>
  )
}
