// `message` of an event is English, so most texts use the other fields instead.
import type { FailureReason } from '@matte/core/task/failure'
import { plainName } from '../mail/plain-name.ts'
import { type EventTexts, text } from './event-words.ts'
import { germanRole } from './german-words.ts'

const on = (day: string | undefined): string => (day === undefined ? 'demnächst' : `am ${day}`)

const notYou = 'Wenn Sie das nicht waren, setzen Sie sofort Ihr Passwort zurück.'
/** A password reset keeps the second factor, so the owner needs another way in. */
const operatorResets =
  'Wenn Sie nach Codes gefragt werden, die Sie nicht haben, kann der Betreiber dieses Dienstes die Abfrage abschalten.'

const failures: Readonly<Record<FailureReason, string>> = {
  INPUT_UNREADABLE: 'Das Bild ist beschädigt, unvollständig oder nicht in dem Format, das es angibt.',
  INPUT_TOO_LARGE:
    'Das Bild, oder sein Ergebnis mit Schatten, hat mehr Pixel als Ihr Tarif erlaubt, oder längere Seiten als das Format.',
  INPUT_CHANGED: 'Die hochgeladene Datei wurde nach dem Anlegen der Aufgabe überschrieben.',
  INPUT_MISSING: 'Die hochgeladene Datei ist nicht mehr vorhanden.',
  INFERENCE_ERROR: 'Der Modellserver konnte dieses Bild nicht verarbeiten.',
  INFERENCE_TIMEOUT: 'Es war nicht rechtzeitig ein Modellserver verfügbar.',
  STORAGE_ERROR: 'Der Objektspeicher ist während der Verarbeitung ausgefallen.',
  INTERNAL: 'Die Aufgabe ist im Dienst fehlgeschlagen.',
}

const failureOf = (reason: unknown): string => (failures as Readonly<Record<string, string>>)[text(reason)] ?? ''

const intervals: Readonly<Record<string, string>> = { month: ', monatlich abgerechnet', year: ', jährlich abgerechnet' }

export const germanEvents: EventTexts = {
  'task.succeeded': () => ({ title: 'Ihr Bild ist fertig', body: 'Der Hintergrund wurde entfernt.' }),
  'task.failed': ({ reason }) => ({
    title: 'Ein Bild konnte nicht verarbeitet werden',
    body: `${failureOf(reason)} Dafür wurde nichts berechnet.`.trim(),
  }),
  'task.retention_cleanup': ({ count, days }, { counted }) => ({
    title: 'Alte Aufgaben wurden gelöscht',
    body:
      `${counted(count, 'abgeschlossene Aufgabe wurde', 'abgeschlossene Aufgaben wurden')} mit den Bildern gelöscht, ` +
      `${counted(days, 'Tag', 'Tage')} nach dem Ende.`,
  }),
  'batch.completed': ({ total_count, success_count }, { counted, number }) => ({
    title: 'Ihr Stapel ist abgeschlossen',
    body: `${number(success_count)} von ${counted(total_count, 'Bild', 'Bildern')} wurden erfolgreich verarbeitet.`,
  }),
  'credits.low_balance': ({ balance }, { counted }) => ({
    title: 'Es sind nur noch wenige Credits übrig',
    body: `Der Arbeitsbereich hat noch ${counted(balance, 'Credit', 'Credits')}. Ohne Credits werden neue Aufgaben abgelehnt.`,
  }),
  'credits.refunded': ({ amount }, { counted }) => ({
    title: 'Credits wurden erstattet',
    body: `Für eine Erstattung wurden ${counted(amount, 'Credit', 'Credits')} zurückgenommen.`,
  }),
  'credits.pack_purchased': ({ credits, pack_name }, { counted }) => ({
    title: 'Ihre Credits sind da',
    body: `Sie können jetzt ${counted(credits, 'Credit', 'Credits')} aus ${text(pack_name) || 'einem Paket'} verwenden.`,
  }),
  'credits.expiration_warning': ({ credits, expiry_date }, { counted, day }) => ({
    title: 'Credits verfallen bald',
    body:
      `${counted(credits, 'Credit verfällt', 'Credits verfallen')} ${on(day(expiry_date))}. Credits, die zuerst ` +
      'verfallen, werden zuerst verbraucht.',
  }),
  'payment.succeeded': ({ amount, currency }, { money }) => ({
    title: 'Wir haben Ihre Zahlung erhalten',
    body: `Sie haben ${money(amount, currency)} bezahlt. Die Rechnung finden Sie unter Zahlungen.`,
  }),
  'payment.failed': ({ message }) => ({
    title: 'Eine Zahlung ist fehlgeschlagen',
    body:
      `${text(message) && `Der Zahlungsanbieter meldet: „${text(message)}“ `}Prüfen Sie Ihre Zahlungsart und versuchen ` +
      'Sie es dann erneut.',
  }),
  'payment.disputed': ({ amount, currency, credits }, { money, counted }) => ({
    title: 'Eine Zahlung wird angefochten',
    body:
      `Ihre Bank ficht eine Zahlung von ${money(amount, currency)} an. Gesperrt bis zur Entscheidung: ` +
      `${counted(credits, 'nicht verbrauchter Credit', 'nicht verbrauchte Credits')} der Zahlung. ` +
      'Ein damit bezahltes Abonnement verlängert sich nicht. War das ein Versehen, wenden Sie sich an Ihre Bank.',
  }),
  'payment.dispute_closed': ({ amount, currency, credits, outcome }, { money, counted }) => ({
    title:
      outcome === 'won' ? 'Die Anfechtung einer Zahlung ist beendet' : 'Eine angefochtene Zahlung wurde zurückgebucht',
    body:
      outcome === 'won'
        ? `Die Zahlung von ${money(amount, currency)} bleibt bestehen. Ihre Credits sind wieder verfügbar.`
        : `Ihre Bank hat ${money(amount, currency)} zurückgebucht. Abgezogen: ` +
          `${counted(credits, 'nicht verbrauchter Credit', 'nicht verbrauchte Credits')} der Zahlung. Ein damit ` +
          'bezahlter Tarif ist beendet.',
  }),
  'refund.succeeded': ({ amount, currency }, { money }) => ({
    title: 'Ihre Erstattung ist unterwegs',
    body: `${money(amount, currency)} gehen zurück an Ihre Zahlungsart. Das kann einige Tage dauern.`,
  }),
  'subscription.updated': ({ plan, next_plan, next_interval, period_end }, { day }) =>
    next_plan === undefined
      ? {
          title: 'Ihr Tarif hat sich geändert',
          body: `Ihr Tarif ist jetzt ${text(plan) || 'der, den Sie gewählt haben'}.`,
        }
      : {
          title: 'Ihre nächste Zahlung hat sich geändert',
          body:
            `Die Zahlung ${on(day(period_end))} gilt für ${text(next_plan)}${intervals[text(next_interval)] ?? ''}. ` +
            `Bis dahin ändert sich nichts.`,
        },
  'subscription.canceled': ({ period_end }, { day }) => ({
    title: 'Ihr Abonnement wurde gekündigt',
    body: `Der Tarif endet ${on(day(period_end))}. Bis dahin können Sie ihn fortsetzen.`,
  }),
  'subscription.renewed': ({ plan_name, period_end }, { day }) => ({
    title: 'Ihr Abonnement wurde verlängert',
    body: `Der Tarif ${text(plan_name)} läuft weiter; der nächste Zeitraum beginnt ${on(day(period_end))}.`.replace(
      '  ',
      ' ',
    ),
  }),
  'referral.reward': ({ credits }, { counted }) => ({
    title: 'Sie haben Credits erhalten',
    body: `Sie haben ${counted(credits, 'Credit', 'Credits')} für jemanden erhalten, den Sie eingeladen haben. Vielen Dank.`,
  }),
  'team.invitation': ({ team_name, inviter_email, role }) => ({
    title: `Einladung zu ${plainName(text(team_name)) ?? 'einem Team'}`,
    body:
      `${text(inviter_email) || 'Jemand'} lädt Sie in der Rolle ${germanRole(text(role) || 'member')} ein. Der Link ` +
      'ist in Ihrer E-Mail.',
  }),
  welcome: () => ({
    title: 'Willkommen bei Matte',
    body: 'Ihr Konto ist bereit. Laden Sie ein Foto hoch, um zu beginnen.',
  }),
  'security.password_changed': () => ({ title: 'Ihr Passwort wurde geändert', body: notYou }),
  'security.mfa_enabled': () => ({
    title: 'Die Zwei-Faktor-Anmeldung ist eingeschaltet',
    body: `Beim Anmelden brauchen Sie jetzt einen Code Ihrer Authenticator-App. ${notYou} ${operatorResets}`,
  }),
  'security.mfa_disabled': () => ({
    title: 'Die Zwei-Faktor-Anmeldung ist abgeschaltet',
    body:
      'Sie oder der Betreiber haben sie abgeschaltet; der Betreiber beendet dabei auch alle Sitzungen. Beim Anmelden ' +
      `brauchen Sie jetzt nur Ihr Passwort. ${notYou} ${operatorResets}`,
  }),
}
