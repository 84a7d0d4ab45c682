import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { baseUrl, useSessionStore } from '../../session/use-session.ts'
import { settingsQuery } from '../../settings.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Form } from '../../ui/form.tsx'
import { NarrowPage } from '../../ui/narrow-page.tsx'
import { PasswordField } from '../../ui/password-field.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { useAction } from '../../ui/use-action.ts'
import { AccountForm } from './account-form.tsx'
import { signInText } from './sign-in-text.ts'

/** Sign-in with a password and, if enabled, a second factor; or with an API key. */
export function SignInPage() {
  const text = useText(signInText)
  const { data: settings } = useQuery(settingsQuery)
  const byKey = <KeyForm />
  return (
    <NarrowPage title={text.title}>
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
    </NarrowPage>
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
      <PasswordField
        label={text.key}
        hint={text.keyHint}
        name="api-key"
        autoComplete="off"
        value={apiKey}
        onChange={setApiKey}
      />
      {signIn.error !== undefined && <ErrorNote error={signIn.error} />}
      <Button type="submit" look="primary" isPending={signIn.isPending}>
        {text.submit}
      </Button>
    </Form>
  )
}
