import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { settingsQuery } from '../../app/settings.ts'
import { shellText } from '../../app/shell-text.ts'
import type { SignedIn } from '../../session/session.ts'
import { baseUrl, useApp, useSession, useSessionStore } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Card, Page } from '../../ui/page.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { useAction } from '../../ui/use-action.ts'
import styles from './sign-in.module.css'
import { signInText } from './sign-in-text.ts'

/** Sign-in with a password and, if enabled, a second factor; or with an API key. */
export function SignInPage() {
  const text = useText(signInText)
  const shell = useText(shellText)
  const session = useSession()
  const { data: settings } = useQuery(settingsQuery)
  const isExpired = session.kind === 'none' && session.reason === 'expired'
  const byKey = <KeyForm />
  return (
    <div className={styles.narrow}>
      <Page title={text.title} lede={isExpired ? shell.expired : undefined}>
        <Card>
          {settings?.accounts === false ? (
            byKey
          ) : (
            <Tabs
              label={text.title}
              tabs={[
                { id: 'account', title: text.byAccount, content: <AccountForm /> },
                { id: 'key', title: text.byKey, content: byKey },
              ]}
            />
          )}
        </Card>
      </Page>
    </div>
  )
}

type Asked = { readonly mfaToken: string }

function AccountForm() {
  const app = useApp()
  const store = useSessionStore()
  const text = useText(signInText)
  const { data: settings } = useQuery(settingsQuery)
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [asked, setAsked] = useState<Asked>()
  const [isUnverified, setIsUnverified] = useState(false)
  const signIn = useAction(async () => {
    const body = { email, password, session: 'cookie' as const }
    const answer = await app.request('POST', '/app/auth/login', { body })
    if ('mfaToken' in answer) setAsked(answer)
    else if ('accessToken' in answer) store.signIn(answer as SignedIn)
    else setIsUnverified(true)
  }, ['email', 'password'])
  if (asked !== undefined) return <SecondFactorForm {...asked} />
  if (isUnverified) return <p>{text.unverified}</p>
  return (
    <Form onSubmit={signIn.run}>
      <TextField
        label={text.email}
        type="email"
        name="email"
        autoComplete="username"
        value={email}
        onChange={setEmail}
        error={signIn.fieldError('email')}
        isRequired
      />
      <TextField
        label={text.password}
        type="password"
        name="password"
        autoComplete="current-password"
        value={password}
        onChange={setPassword}
        error={signIn.fieldError('password')}
        isRequired
      />
      {signIn.error !== undefined && <ErrorNote error={signIn.error} />}
      <Button type="submit" look="primary" isPending={signIn.isPending}>
        {text.submit}
      </Button>
      <p className={styles.links}>
        {settings?.registration === 'open' && <Link to="/sign-up">{text.signUp}</Link>}
        {settings?.passwordReset === true && <Link to="/forgot-password">{text.forgot}</Link>}
      </p>
    </Form>
  )
}

function SecondFactorForm({ mfaToken }: Asked) {
  const app = useApp()
  const store = useSessionStore()
  const text = useText(signInText)
  const [code, setCode] = useState('')
  const verify = useAction(async () => {
    const body = { mfaToken, code: code.trim(), session: 'cookie' as const }
    store.signIn((await app.request('POST', '/app/auth/2fa/verify', { body })) as SignedIn)
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
        error={verify.fieldError('code')}
        isRequired
        autoFocus
      />
      {verify.error !== undefined && <ErrorNote error={verify.error} />}
      <Button type="submit" look="primary" isPending={verify.isPending}>
        {text.submit}
      </Button>
    </Form>
  )
}

function KeyForm() {
  const store = useSessionStore()
  const text = useText(signInText)
  const [apiKey, setApiKey] = useState('')
  const signIn = useAction(async () => {
    // The client is loaded with the form, so other pages do not wait for it.
    const { Matte } = await import('matte-client')
    const key = apiKey.trim()
    await new Matte({ apiKey: key, baseUrl: baseUrl(), retriesMax: 1 }).usage.get()
    store.signInByKey(key)
  })
  return (
    <Form onSubmit={signIn.run}>
      <TextField
        label={text.key}
        hint={text.keyHint}
        type="password"
        name="api-key"
        autoComplete="off"
        value={apiKey}
        onChange={setApiKey}
        isRequired
      />
      {signIn.error !== undefined && <ErrorNote error={signIn.error} />}
      <Button type="submit" look="primary" isPending={signIn.isPending}>
        {text.submit}
      </Button>
    </Form>
  )
}
