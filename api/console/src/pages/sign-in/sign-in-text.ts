import { defineText } from '../../text/text.ts'

export const signInText = defineText({
  en: {
    title: 'Sign in',
    byAccount: 'Account',
    byKey: 'API key',
    email: 'Email address',
    password: 'Password',
    submit: 'Sign in',
    signUp: 'Create an account',
    forgot: 'Forgot your password?',
    unverified: 'This address is not verified yet. We sent a new link; open it, then sign in.',
    code: 'Code',
    codeHint: 'From your authenticator app, or one of your recovery codes.',
    key: 'API key',
    keyHint: 'The page keeps the key in memory only. Reloading signs you out.',
  },
  de: {
    title: 'Anmelden',
    byAccount: 'Konto',
    byKey: 'API-Schlüssel',
    email: 'E-Mail-Adresse',
    password: 'Passwort',
    submit: 'Anmelden',
    signUp: 'Konto anlegen',
    forgot: 'Passwort vergessen?',
    unverified:
      'Diese Adresse ist noch nicht bestätigt. Wir haben einen neuen Link gesendet; öffnen Sie ihn und melden Sie sich dann an.',
    code: 'Code',
    codeHint: 'Aus Ihrer Authenticator-App oder einer Ihrer Wiederherstellungscodes.',
    key: 'API-Schlüssel',
    keyHint: 'Die Seite hält den Schlüssel nur im Speicher. Ein Neuladen meldet Sie ab.',
  },
})
