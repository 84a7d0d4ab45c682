import { defineText } from '../text/text.ts'

export const uiText = defineText({
  en: {
    cancel: 'Cancel',
    close: 'Close',
    copy: 'Copy',
    copied: 'Copied',
    loading: 'Loading …',
    more: 'Show more',
    dataTable: 'Show as a table',
    showPassword: 'Show password',
    hidePassword: 'Hide password',
    newPassword: {
      label: 'New password',
      hint: '12 to 128 characters of any kind. A few words that do not belong together work well.',
      tooShort: 'Use at least 12 characters.',
      tooLong: 'Use at most 128 characters.',
      tooEasy: 'This is too easy to guess: it is a common password, or built from one or from your name or address.',
    },
    errors: {
      failed: 'This did not work.',
      unknown: 'Reload the page. If it happens again, tell whoever runs this installation.',
      request: 'Request',
      retry: 'Try again',
    },
    adviceFor: (code: string, status: number | undefined) => {
      if (code === 'CLIENT_CONNECTION' || code === 'CLIENT_TIMEOUT') return 'Check your connection, then try again.'
      if (status === 403) return 'Your role does not allow this. Ask an owner or admin of the workspace.'
      if (status === 429) return 'There were too many requests. Wait a moment, then try again.'
      if (status === 503) return 'The service is busy or in maintenance. Try again in a minute.'
      if (status !== undefined && status >= 500) return 'The fault is in the service. Try again.'
      return ''
    },
    status: {
      queued: 'Queued',
      processing: 'Processing',
      succeeded: 'Succeeded',
      failed: 'Failed',
      canceled: 'Canceled',
    },
  },
  de: {
    cancel: 'Abbrechen',
    close: 'Schließen',
    copy: 'Kopieren',
    copied: 'Kopiert',
    loading: 'Wird geladen …',
    more: 'Mehr anzeigen',
    dataTable: 'Als Tabelle anzeigen',
    showPassword: 'Passwort anzeigen',
    hidePassword: 'Passwort verbergen',
    newPassword: {
      label: 'Neues Passwort',
      hint: '12 bis 128 beliebige Zeichen. Gut sind einige Wörter, die nicht zusammengehören.',
      tooShort: 'Verwenden Sie mindestens 12 Zeichen.',
      tooLong: 'Verwenden Sie höchstens 128 Zeichen.',
      tooEasy:
        'Das ist zu leicht zu erraten: ein verbreitetes Passwort, oder aus einem solchen, Ihrem Namen oder Ihrer Adresse gebildet.',
    },
    errors: {
      failed: 'Das hat nicht funktioniert.',
      unknown: 'Laden Sie die Seite neu. Tritt der Fehler wieder auf, wenden Sie sich an den Betreiber.',
      request: 'Anfrage',
      retry: 'Erneut versuchen',
    },
    adviceFor: (code: string, status: number | undefined) => {
      if (code === 'CLIENT_CONNECTION' || code === 'CLIENT_TIMEOUT')
        return 'Prüfen Sie Ihre Verbindung und versuchen Sie es erneut.'
      if (status === 403)
        return 'Ihre Rolle erlaubt das nicht. Wenden Sie sich an einen Inhaber oder Administrator des Arbeitsbereichs.'
      if (status === 429) return 'Das waren zu viele Anfragen. Warten Sie einen Moment und versuchen Sie es erneut.'
      if (status === 503)
        return 'Der Dienst ist ausgelastet oder wird gewartet. Versuchen Sie es in einer Minute erneut.'
      if (status !== undefined && status >= 500) return 'Der Fehler liegt beim Dienst. Versuchen Sie es erneut.'
      return ''
    },
    status: {
      queued: 'Wartet',
      processing: 'In Arbeit',
      succeeded: 'Fertig',
      failed: 'Fehlgeschlagen',
      canceled: 'Abgebrochen',
    },
  },
})
