// Password and code that are asked for again before a change that matters.
import { defineText } from '../text/text.ts'

export const confirmText = defineText({
  en: {
    password: 'Your password',
    passwordError: 'This is not your password.',
    code: 'Code',
    codeHint: 'From your authenticator app, or a recovery code.',
    codeError: 'This code is not right, or it was used already.',
  },
  de: {
    password: 'Ihr Passwort',
    passwordError: 'Das ist nicht Ihr Passwort.',
    code: 'Code',
    codeHint: 'Aus Ihrer Authenticator-App oder ein Wiederherstellungscode.',
    codeError: 'Dieser Code ist falsch oder wurde schon verwendet.',
  },
})
