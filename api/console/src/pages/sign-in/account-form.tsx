import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useApp, useSessionStore } from '../../session/use-session.ts'
import { settingsQuery } from '../../settings.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { FormLinks } from '../../ui/narrow-page.tsx'
import { Stack } from '../../ui/page.tsx'
import { PasswordField } from '../../ui/password-field.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { useAction } from '../../ui/use-action.ts'
import { signInText } from './sign-in-text.ts'

type AccountFormProps = {
  /** The person who goes on after the session has ended. */
  readonly knownEmail?: string
}

/** Address and password, then the code of a second factor if the account has one. */
export function AccountForm({ knownEmail }: AccountFormProps) {
  const app = useApp()
  const store = useSessionStore()
  const text = useText(signInText)
  const [email, setEmail] = useState(knownEmail ?? '')
  const [password, setPassword] = useState('')
  const [mfaToken, setMfaToken] = useState<string>()
  const [isUnverified, setIsUnverified] = useState(false)
  const signIn = useAction(async () => {
    const body = { email: email.trim(), password, session: 'cookie' as const }
    const answer = await app.request('POST', '/app/auth/login', { body })
    if ('mfaToken' in answer) setMfaToken(answer.mfaToken)
    else if ('accessToken' in answer) await store.signIn(answer)
    else setIsUnverified(true)
  }, ['email', 'password'])
  const startAgain = (): void => {
    setPassword('')
    setMfaToken(undefined)
    setIsUnverified(false)
  }
  if (mfaToken !== undefined) return <SecondFactorForm mfaToken={mfaToken} onBack={startAgain} />
  if (isUnverified) {
    return (
      <Stack>
        <p role="status">{text.unverified}</p>
        <Button onPress={startAgain}>{text.back}</Button>
      </Stack>
    )
  }
  return (
    <Form onSubmit={signIn.run}>
      <TextField
        label={text.email}
        type="email"
        name="email"
        autoComplete="username"
        value={email}
        onChange={setEmail}
        error={signIn.fieldError('email') && text.emailError}
        isDisabled={knownEmail !== undefined}
        isRequired
      />
      <PasswordField
        label={text.password}
        value={password}
        onChange={setPassword}
        error={signIn.fieldError('password') && text.passwordError}
        autoFocus={knownEmail !== undefined}
      />
      {signIn.error !== undefined && <ErrorNote error={signIn.error} />}
      <Button type="submit" look="primary" isPending={signIn.isPending}>
        {text.submit}
      </Button>
      {knownEmail === undefined && <OtherWays />}
    </Form>
  )
}

function OtherWays() {
  const text = useText(signInText)
  const { data: settings } = useQuery(settingsQuery)
  return (
    <FormLinks>
      {settings?.registration !== 'closed' && <Link to="/sign-up">{text.signUp}</Link>}
      {settings?.passwordReset === true && <Link to="/forgot-password">{text.forgot}</Link>}
    </FormLinks>
  )
}

type SecondFactorProps = { readonly mfaToken: string; readonly onBack: () => void }

function SecondFactorForm({ mfaToken, onBack }: SecondFactorProps) {
  const app = useApp()
  const store = useSessionStore()
  const text = useText(signInText)
  const [code, setCode] = useState('')
  const verify = useAction(async () => {
    const body = { mfaToken, code: code.trim(), session: 'cookie' as const }
    await store.signIn(await app.request('POST', '/app/auth/2fa/verify', { body }))
  }, ['code'])
  return (
    <Form onSubmit={verify.run}>
      <TextField
        label={text.code}
        hint={text.codeHint}
        name="code"
        autoComplete="one-time-code"
        value={code}
        onChange={setCode}
        error={verify.fieldError('code') && text.codeError}
        isRequired
        autoFocus
      />
      {verify.error !== undefined && <ErrorNote error={verify.error} />}
      <Button type="submit" look="primary" isPending={verify.isPending}>
        {text.submit}
      </Button>
      <Button look="quiet" onPress={onBack}>
        {text.back}
      </Button>
    </Form>
  )
}
