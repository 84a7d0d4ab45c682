import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { linkValues } from '../../session/link-values.ts'
import { useApp } from '../../session/use-session.ts'
import { settingsQuery } from '../../settings.ts'
import { useLocale, useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { FormLinks, NarrowPage } from '../../ui/narrow-page.tsx'
import { NewPasswordField } from '../../ui/password-field.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { useAction } from '../../ui/use-action.ts'
import { ResendForm } from './resend-form.tsx'
import { signUpText } from './sign-up-text.ts'

/** The service answers alike for known and unknown addresses; the mail tells the difference. */
export function SignUpPage() {
  const { signUp: text, sent } = useText(signUpText)
  const { data: settings } = useQuery(settingsQuery)
  const [sentTo, setSentTo] = useState<string>()
  if (settings?.registration === 'closed' || settings?.accounts === false) {
    return (
      <NarrowPage title={text.title}>
        <p>{text.closed}</p>
        <FormLinks>
          <Link to="/sign-in">{text.haveOne}</Link>
        </FormLinks>
      </NarrowPage>
    )
  }
  if (sentTo !== undefined) {
    return (
      <NarrowPage title={sent.title} lede={sent.lede(sentTo)}>
        <ResendForm email={sentTo} />
        <FormLinks>
          <Button look="quiet" size="small" onPress={() => setSentTo(undefined)}>
            {sent.other}
          </Button>
        </FormLinks>
      </NarrowPage>
    )
  }
  return (
    <NarrowPage title={text.title} lede={settings?.registration === 'invite' ? text.inviteOnly : text.lede}>
      <SignUpForm onSent={setSentTo} />
    </NarrowPage>
  )
}

function SignUpForm({ onSent }: { readonly onSent: (email: string) => void }) {
  const { signUp: text } = useText(signUpText)
  const app = useApp()
  const language = useLocale()
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [referralCode, setReferralCode] = useState(linkValues().ref ?? '')
  const register = useAction(async () => {
    const body = {
      email: email.trim(),
      password,
      ...(name.trim() && { name: name.trim() }),
      ...(referralCode.trim() && { referralCode: referralCode.trim() }),
      // With the region that the browser names, for dates and numbers in mails.
      locale: navigator.languages.find((name) => name.split('-')[0] === language) ?? language,
    }
    await app.request('POST', '/app/auth/register', { body })
    onSent(body.email)
  }, ['email', 'password', 'name', 'referralCode'])
  return (
    <Form onSubmit={register.run}>
      <TextField
        label={text.email}
        type="email"
        name="email"
        autoComplete="username"
        value={email}
        onChange={setEmail}
        error={register.fieldError('email') && text.emailError}
        isRequired
      />
      <NewPasswordField
        label={text.password}
        value={password}
        onChange={setPassword}
        error={register.fieldError('password')}
      />
      <TextField
        label={text.name}
        hint={text.nameHint}
        name="name"
        autoComplete="name"
        value={name}
        onChange={setName}
        error={register.fieldError('name')}
        maxLength={100}
      />
      <TextField
        label={text.referral}
        hint={text.referralHint}
        name="referral-code"
        autoComplete="off"
        value={referralCode}
        onChange={setReferralCode}
        error={register.fieldError('referralCode')}
      />
      {register.error !== undefined && <ErrorNote error={register.error} />}
      <Button type="submit" look="primary" isPending={register.isPending}>
        {text.submit}
      </Button>
      <FormLinks>
        <Link to="/sign-in">{text.haveOne}</Link>
      </FormLinks>
    </Form>
  )
}
