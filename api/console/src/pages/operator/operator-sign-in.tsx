import { useState } from 'react'
import { baseUrl, useSessionStore } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Card, Page, Stack } from '../../ui/page.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { useAction } from '../../ui/use-action.ts'
import styles from './operator.module.css'
import { operatorText } from './operator-text.ts'

/** The code of a console link, taken out of the address bar at once. */
function takeCode(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get('code')
  if (code !== null) history.replaceState(history.state, '', location.pathname)
  return code ?? undefined
}

/** Sign-in of operators: with the link of `matte-admin console-link`, or with the operator token. */
export function OperatorSignIn() {
  const text = useText(operatorText)
  const store = useSessionStore()
  const [code] = useState(takeCode)
  const [token, setToken] = useState('')
  const signIn = useAction(async () => {
    const { MatteApp } = await import('matte-client/app')
    const given = token.trim()
    const client = new MatteApp({ baseUrl: baseUrl(), accessToken: () => (given === '' ? undefined : given) })
    if (given === '' && code !== undefined) {
      const { accessToken } = await client.request('POST', '/operator/session', { body: { code } })
      return store.signInAsOperator(accessToken)
    }
    await client.request('GET', '/operator/session')
    return store.signInAsOperator(given)
  })
  return (
    <div className={styles.narrow}>
      <Page title={text.signInTitle} lede={code === undefined ? text.signInLede : undefined}>
        <Card>
          <Form onSubmit={signIn.run}>
            {code === undefined ? (
              <TextField
                label={text.token}
                hint={text.tokenHint}
                type="password"
                autoComplete="off"
                value={token}
                onChange={setToken}
                isRequired
              />
            ) : (
              <p>{text.linkHint}</p>
            )}
            <Stack>
              {signIn.error !== undefined && <ErrorNote error={signIn.error} />}
              <Button type="submit" look="primary" isPending={signIn.isPending}>
                {text.signIn}
              </Button>
            </Stack>
          </Form>
        </Card>
      </Page>
    </div>
  )
}
