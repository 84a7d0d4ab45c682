import type { ErrorCode } from '@matte/core/error'
import { html } from '../html.ts'
import type { PageTexts } from './english-pages.ts'

/** Errors of the service are English; those that a page can show often are here. */
const errors: Readonly<Record<string, string>> = {
  'The e-mail address or the password is wrong.': 'Die E-Mail-Adresse oder das Passwort ist falsch.',
  'The password is not the one of this registration. Try another one, or ask for a link to set a new password.':
    'Das Passwort ist nicht das dieser Registrierung. Versuchen Sie ein anderes, oder fordern Sie einen Link für ein ' +
    'neues an.',
  'This login is invalid or has expired. Sign in again.':
    'Diese Anmeldung ist ungültig oder abgelaufen. Melden Sie sich erneut an.',
  'Another account has this address.': 'Ein anderes Konto hat diese Adresse.',
  'This invitation is for another address. Sign in with that address.':
    'Diese Einladung gilt für eine andere Adresse. Melden Sie sich mit jener Adresse an.',
  'You are already a member of this team.': 'Sie sind bereits Mitglied dieses Teams.',
  'This invitation is no longer valid. Ask for a new one.': 'Diese Einladung gilt nicht mehr. Bitten Sie um eine neue.',
  'This form was sent from another site. Open the link again and send it there.':
    'Dieses Formular wurde von einer anderen Website gesendet. Öffnen Sie den Link erneut und senden Sie es dort.',
}

/** For all other errors with this code. */
const byCode: Partial<Record<ErrorCode, string>> = {
  NOT_FOUND: 'Diese Seite gibt es nicht.',
  RATE_LIMIT_EXCEEDED: 'Zu viele Versuche. Versuchen Sie es später erneut.',
  SYSTEM_INTERNAL_ERROR: 'Der Dienst konnte diese Anfrage nicht ausführen. Versuchen Sie es später erneut.',
}

/** They end a sentence that begins with the label of a field. */
const issues: Readonly<Record<string, string>> = {
  'is required': 'fehlt',
  'must be an e-mail address': 'muss eine E-Mail-Adresse sein',
  'must not have fewer than 12 characters': 'muss mindestens 12 Zeichen haben',
  'must not have more than 128 characters': 'darf höchstens 128 Zeichen haben',
  'is too easy to guess: it is a common password, or built from one or from your own name or address':
    'ist zu leicht zu erraten: Es ist verbreitet oder aus einem verbreiteten Passwort, Ihrem Namen oder Ihrer Adresse ' +
    'gebildet',
  'is wrong or was already used': 'ist falsch oder wurde schon verwendet',
}

export const germanPages: PageTexts = {
  language: 'de',

  errorPrefix: 'Fehler: ',
  optional: '(freiwillig)',
  linkIncomplete: 'Der Link ist unvollständig. Öffnen Sie ihn noch einmal aus der E-Mail.',
  correctFields: 'Korrigieren Sie die markierten Felder und senden Sie das Formular erneut.',
  notAForm: 'Die Anfrage ist kein Formular dieser Seite.',
  errorTitle: 'Das hat nicht funktioniert',
  errorTitles: {
    AUTH_FORBIDDEN: 'Das wurde abgelehnt',
    NOT_FOUND: 'Diese Seite gibt es nicht',
    RATE_LIMIT_EXCEEDED: 'Zu viele Anfragen',
  },
  error: (code, message) => errors[message] ?? byCode[code] ?? message,
  issue: (message) => issues[message] ?? 'ist ungültig',

  email: 'E-Mail-Adresse',
  password: 'Passwort',
  newPassword: 'Neues Passwort',
  passwordHint: 'Mindestens 12 Zeichen. Mehrere Wörter merken Sie sich leichter als ein schwieriges.',
  name: 'Name',
  code: 'Code',
  codeHint: 'Aus Ihrer Authenticator-App, oder einer Ihrer Wiederherstellungscodes.',
  signIn: 'Anmelden',
  chooseNewPassword: 'Neues Passwort wählen',

  checkMail: 'Sehen Sie in Ihre E-Mails',
  checkSpam: 'Nach einigen Minuten keine E-Mail? Sehen Sie im Spam-Ordner nach.',
  deadLink: 'Dieser Link funktioniert nicht',

  register: 'Konto anlegen',
  registerButton: 'Konto anlegen',
  registered: 'Eine E-Mail mit einem Link ist unterwegs. Ihr Konto ist bereit, sobald Sie die Adresse bestätigt haben.',
  haveAccount: 'Haben Sie schon ein Konto?',

  verify: 'Bestätigen Sie Ihre Adresse',
  verifyIntro:
    'Geben Sie das Passwort ein, mit dem Sie sich registriert haben. Es zeigt, dass die Registrierung Ihre ist.',
  verifyButton: 'Adresse bestätigen',
  resendIntro:
    'Geben Sie die Adresse ein, mit der Sie sich registriert haben. Sie erhalten einen neuen Link per E-Mail.',
  resendButton: 'Neuen Link senden',
  resent: 'Wenn diese Adresse registriert und noch nicht bestätigt ist, ist ein neuer Link unterwegs.',
  deadVerification:
    'Er wurde schon verwendet, ist älter als ein Tag oder unvollständig. Wenn Ihre Adresse bestätigt ist, melden Sie ' +
    'sich an. Sonst fordern Sie einen neuen Link an.',
  verified: 'Ihre Adresse ist bestätigt',
  accountReady: 'Ihr Konto ist bereit. Sie können diese Seite schließen oder sich anmelden.',

  forgotIntro: 'Geben Sie die Adresse Ihres Kontos ein. Sie erhalten per E-Mail einen Link, der 10 Minuten gilt.',
  forgotButton: 'Link senden',
  resetSent: 'Wenn es zu dieser Adresse ein Konto gibt, ist ein Link für ein neues Passwort unterwegs.',
  deadReset: 'Er wurde schon verwendet, ist älter als 10 Minuten oder unvollständig. Fordern Sie einen neuen an.',
  resetIntro: 'Danach sind Sie überall abgemeldet. Die Zwei-Faktor-Anmeldung bleibt, wie sie ist.',
  resetButton: 'Neues Passwort speichern',
  passwordChanged: 'Ihr Passwort ist geändert',
  passwordChangedIntro: 'Melden Sie sich mit dem neuen Passwort an.',

  unverified: 'Ihre Adresse ist noch nicht bestätigt. Ein neuer Link ist unterwegs.',
  enterCode: 'Geben Sie einen Code ein',
  codeIntro: 'Dieses Konto verwendet die Zwei-Faktor-Anmeldung. Jeder Code gilt einmal.',

  confirmEmail: 'Bestätigen Sie Ihre neue Adresse',
  confirmEmailIntro: 'Melden Sie sich mit der bisherigen Adresse Ihres Kontos an. Danach gilt die neue.',
  confirmEmailButton: 'Neue Adresse bestätigen',
  deadChange:
    'Er wurde schon verwendet, ist älter als ein Tag, oder ein späterer hat ihn ersetzt. Ändern Sie die Adresse erneut.',
  emailChanged: 'Ihre Adresse ist geändert',
  emailChangedIntro: (email) => `Melden Sie sich von jetzt an mit ${email} an.`,

  acceptInvite: 'Nehmen Sie die Einladung an',
  acceptInviteIntro: 'Melden Sie sich mit der Adresse an, an die die Einladung ging.',
  acceptInviteButton: 'Dem Team beitreten',
  inviteNoAccount:
    'Noch kein Konto? Legen Sie eines mit jener Adresse an, und öffnen Sie danach diesen Link noch einmal.',
  deadInvitation:
    'Die Einladung wurde verwendet, widerrufen oder ersetzt, oder sie ist älter als 7 Tage. Bitten Sie um eine neue.',
  joined: (team) => `Sie sind im Team ${team}`,
  closePage: 'Sie können diese Seite schließen.',

  loginIntro: 'Mit der Anmeldung hier erhalten Sie ein Token für die API.',
  signedIn: 'Sie sind angemeldet',
  tokenIntro: (minutes) =>
    html`<p>Senden Sie dieses Token mit Anfragen an die API, als <code>Authorization: Bearer</code> und das Token.
Es gilt ${minutes} Minuten. Wer es hat, kann in Ihrem Namen handeln. Halten Sie es geheim.</p>`,
  tokenLabel: 'Zugriffstoken',
  apiReference: 'Referenz der API',

  backFromCheckout: 'Sie sind zurück von der Kasse',
  backFromCheckoutIntro:
    'Wenn Sie bezahlt haben, gilt die Bestellung als bezahlt, sobald der Anbieter es bestätigt. Sie können diese Seite ' +
    'schließen.',
  declined: 'Die Karte wurde abgelehnt. Versuchen Sie es erneut, oder stornieren Sie die Bestellung.',
  noCheckout: 'Hier ist nichts zu bezahlen',
  noCheckoutIntro:
    'Der Link ist unvollständig, oder es gibt die Bestellung nicht mehr. Rufen Sie die Bestellung für ihren Link ' +
    'erneut ab.',
  pay: (price) => `${price} bezahlen`,
  order: 'Bestellung',
  amount: 'Betrag',
  backToApp: 'Zurück zur App',
  orderTitles: {
    paid: 'Die Bestellung ist bezahlt',
    canceled: 'Die Bestellung ist storniert',
    refunded: 'Die Bestellung wurde erstattet',
    partially_refunded: 'Ein Teil der Bestellung wurde erstattet',
  },
  paidNotReported: 'Bezahlt und noch nicht gemeldet',
  sandbox: 'Dies ist die Testumgebung: Es fließt kein Geld. Wählen Sie das Ergebnis der Zahlung.',
  decline: 'Karte ablehnen',
  cancelOrder: 'Bestellung stornieren',
  otherOutcomes: 'Andere Ergebnisse',
  declineRenewals: 'Jede spätere Abbuchung des Abonnements ablehnen',
  failRefunds: 'Erstattungen eine Stunde nach ihrem Erfolg zurückkommen lassen',
  payDelayed: 'Bezahlen und 30 Sekunden später melden',
  payDuplicate: 'Bezahlen und jedes Ereignis zweimal senden',
  payReordered: 'Bezahlen und die Ereignisse in umgekehrter Reihenfolge senden',
}
