import { personFormat } from '@matte/people/mail/person-format'
import { plainName } from '@matte/people/mail/plain-name'
import type { DataOf } from '@matte/people/mail/templates'
import { germanRole } from '@matte/people/notification/german-words'
import { isSecondFactor, isSecurity, type MailPlace, type MailTexts } from './mail-content.ts'

const ignoreIt =
  'Wenn Sie das nicht waren, ignorieren Sie diese E-Mail: Solange niemand den Link öffnet, geschieht nichts.'

const whoGetsIt =
  'Sie sind Inhaber oder Administrator dieses Arbeitsbereichs bei Matte. Solche E-Mails lassen sich nicht abschalten.'

type Endpoint = {
  readonly targetHost: string
  readonly endpointId: string
  readonly workspaceName: string
  readonly failingSince: string
}

const describeFailing = ({ failingSince, ...endpoint }: Endpoint, place: MailPlace): string =>
  `An ${endpoint.targetHost}, den Webhook-Endpunkt ${endpoint.endpointId} von ` +
  `${plainName(endpoint.workspaceName) ?? 'Ihrem Arbeitsbereich'}, konnte seit dem ` +
  `${personFormat(place).time(new Date(failingSince))} nichts mehr zugestellt werden`

const formerRights: Readonly<Record<DataOf<'member-endpoints'>['change'], (team: string) => string>> = {
  demoted: (team) => `ist nicht mehr Inhaber oder Administrator von ${team}`,
  removed: (team) => `wurde aus ${team} entfernt`,
  left: (team) => `ist aus ${team} ausgetreten`,
}

export const germanMails: MailTexts = {
  'verify-email': ({ url }) => ({
    subject: 'Bestätigen Sie Ihre Adresse',
    paragraphs: ['Willkommen bei Matte. Bestätigen Sie, dass diese Adresse Ihnen gehört. Danach ist Ihr Konto bereit.'],
    links: [{ label: 'Adresse bestätigen', url }],
    note: 'Der Link funktioniert einmal, innerhalb von 24 Stunden.',
    reason: `Jemand hat diese Adresse bei Matte registriert. ${ignoreIt}`,
  }),
  'already-registered': ({ loginUrl, resetUrl }) => ({
    subject: 'Sie haben bereits ein Konto',
    paragraphs: [
      'Jemand, wahrscheinlich Sie, hat diese Adresse bei Matte registriert. Zu ihr gibt es bereits ein Konto, und ' +
        'nichts wurde geändert.',
      'Melden Sie sich an wie bisher. Wenn Sie Ihr Passwort nicht mehr wissen, wählen Sie ein neues.',
    ],
    links: [
      { label: 'Anmelden', url: loginUrl },
      { label: 'Neues Passwort wählen', url: resetUrl },
    ],
    reason: 'Jemand wollte diese Adresse bei Matte registrieren. Wenn Sie das nicht waren, brauchen Sie nichts zu tun.',
  }),
  'reset-password': ({ url }) => ({
    subject: 'Wählen Sie ein neues Passwort',
    paragraphs: ['Jemand, wahrscheinlich Sie, hat ein neues Passwort für Ihr Konto angefordert.'],
    links: [{ label: 'Neues Passwort wählen', url }],
    note: 'Der Link funktioniert einmal, innerhalb von 10 Minuten. Danach fordern Sie einen neuen an.',
    reason:
      'Für diese Adresse wurde ein neues Passwort angefordert. Wenn Sie das nicht waren, ignorieren Sie diese E-Mail: ' +
      'Das alte Passwort gilt weiter.',
  }),
  'confirm-email': ({ url }) => ({
    subject: 'Bestätigen Sie Ihre neue Adresse',
    paragraphs: ['Bestätigen Sie, dass diese Adresse Ihnen gehört. Ihr Konto bei Matte verwendet sie von da an.'],
    links: [{ label: 'Neue Adresse bestätigen', url }],
    note: 'Der Link funktioniert einmal. Bis dahin behält Ihr Konto die bisherige Adresse.',
    reason: `Jemand hat diese Adresse als neue Adresse eines Kontos bei Matte eingegeben. ${ignoreIt}`,
  }),
  'email-changing': ({ newEmail }) => ({
    subject: 'Ihre Adresse soll geändert werden',
    paragraphs: [
      `Jemand, der in Ihrem Konto angemeldet ist, möchte dessen Adresse in ${newEmail} ändern.`,
      'Das Konto behält diese Adresse, bis die neue bestätigt ist. Wenn Sie das nicht waren, setzen Sie jetzt Ihr ' +
        'Passwort zurück.',
    ],
    reason: 'Dies ist die Adresse eines Kontos bei Matte, dessen Adresse geändert werden soll.',
  }),
  'failed-logins': ({ failures }, place) => ({
    subject: 'Jemand versucht vielleicht, Ihr Passwort zu erraten',
    paragraphs: [
      `Bei Ihrem Konto gab es ${personFormat(place).number(failures)} fehlgeschlagene Anmeldungen. ` +
        'Keine davon war erfolgreich.',
      'Weitere Versuche werden verlangsamt. Wenn Sie das nicht waren, brauchen Sie nichts zu tun. Ein langes Passwort, ' +
        'das Sie nirgendwo sonst verwenden, und die Zwei-Faktor-Anmeldung schützen Sie vor solchen Versuchen.',
    ],
    reason: 'Dies ist die Adresse eines Kontos bei Matte. Solche Warnungen lassen sich nicht abschalten.',
  }),
  'wrong-codes': ({ codes }, place) => ({
    subject: 'Jemand versucht vielleicht, Ihre Codes zu erraten',
    paragraphs: [
      `Für Ihr Konto wurden innerhalb eines Tages ${personFormat(place).number(codes)} falsche Codes eingegeben. ` +
        'Matte fragt erst nach dem richtigen Passwort nach einem Code.',
      'Wenn Sie das nicht waren, kennt jemand Ihr Passwort: Wählen Sie jetzt ein neues. Wenn Sie die App und die ' +
        'Wiederherstellungscodes verloren haben, kann der Betreiber dieses Dienstes die Zwei-Faktor-Anmeldung für Sie ' +
        'abschalten.',
    ],
    ...(place.supportUrl !== undefined && { links: [{ label: 'Betreiber kontaktieren', url: place.supportUrl }] }),
    reason: 'Dies ist die Adresse eines Kontos bei Matte. Solche Warnungen lassen sich nicht abschalten.',
  }),
  'team-invitation': ({ teamName, inviterEmail, role, url }) => {
    const team = plainName(teamName)
    return {
      subject: `${inviterEmail} lädt Sie ${team ? `zu ${team}` : 'in ein Team'} ein`,
      paragraphs: [
        `${inviterEmail} lädt Sie ${team ? `in das Team ${team}` : 'in ein Team'} bei Matte ein, in der Rolle ` +
          `${germanRole(role)}.`,
      ],
      links: [{ label: 'Einladung ansehen', url }],
      note: 'Der Link funktioniert einmal, innerhalb von 7 Tagen, für ein Konto mit dieser Adresse.',
      reason:
        'Ein Mitglied des Teams hat diese Adresse angegeben. Wenn Sie das Team nicht kennen, ignorieren Sie diese E-Mail.',
    }
  },
  'referral-invitation': ({ inviterName, inviterEmail, url }) => {
    const inviter = plainName(inviterName) ?? inviterEmail ?? 'Jemand'
    return {
      subject: `${inviter} lädt Sie zu Matte ein`,
      paragraphs: [
        `${inviter} entfernt mit Matte den Hintergrund von Fotos und glaubt, dass es auch Ihnen gefallen könnte.`,
      ],
      links: [{ label: 'Matte ausprobieren', url }],
      reason: `${inviter} hat diese Adresse eingegeben. Wenn Sie sich nicht registrieren, erhalten Sie keine weitere E-Mail.`,
    }
  },
  'endpoint-failing': ({ disabledAfterDays, ...endpoint }, place) => ({
    subject: `Ihre Webhooks an ${endpoint.targetHost} schlagen fehl`,
    paragraphs: [
      `${describeFailing(endpoint, place)}.`,
      'Matte wiederholt jede Zustellung stundenlang. Ein Endpunkt, bei dem ' +
        `${personFormat(place).number(disabledAfterDays)} Tage lang jede Zustellung fehlschlägt, wird abgeschaltet. Er ` +
        'erhält keine Ereignisse mehr, bis Sie ihn wieder einschalten. Fehlgeschlagene Zustellungen lassen sich erneut ' +
        'senden.',
    ],
    reason: whoGetsIt,
  }),
  'endpoint-disabled': (endpoint, place) => ({
    subject: `Ihre Webhooks an ${endpoint.targetHost} sind abgeschaltet`,
    paragraphs: [
      `${describeFailing(endpoint, place)}. Deshalb wurde er abgeschaltet.`,
      'Sobald der Empfänger wieder arbeitet, schalten Sie den Endpunkt ein und senden die fehlgeschlagenen ' +
        'Zustellungen erneut.',
    ],
    reason: whoGetsIt,
  }),
  'member-endpoints': ({ teamName, memberEmail, change, endpoints }) => {
    const team = plainName(teamName) ?? 'Ihrem Team'
    return {
      subject: `Webhook-Endpunkte, die ${memberEmail} in ${team} angelegt hat`,
      paragraphs: [
        `${memberEmail} ${formerRights[change](team)}. Webhook-Endpunkte, die dieses Mitglied angelegt hat, erhalten ` +
          'weiterhin Ereignisse:',
        ...endpoints.map(({ id, targetHost }) => `${targetHost}, der Endpunkt ${id}`),
        'Prüfen Sie, ob jeder Empfänger noch zu Ihrem Team gehört. Löschen Sie einen Endpunkt, der nicht dazugehört, ' +
          'und erneuern Sie das Geheimnis eines Endpunkts, der bleibt.',
      ],
      reason: 'Sie sind Inhaber dieses Teams bei Matte. Solche E-Mails lassen sich nicht abschalten.',
    }
  },
  'keys-expiring': ({ workspaceName, keys }, place) => {
    const workspace = (workspaceName === null ? undefined : plainName(workspaceName)) ?? 'Ihrem Arbeitsbereich'
    const format = personFormat(place)
    return {
      subject: keys.length === 1 ? 'Ein API-Schlüssel läuft bald ab' : 'API-Schlüssel laufen bald ab',
      paragraphs: [
        `Programme mit diesen API-Schlüsseln von ${workspace} erhalten Fehler, sobald die Schlüssel abgelaufen sind:`,
        ...keys.map(
          ({ name, lastFour, expiresAt }) =>
            `${plainName(name) ?? 'Der Schlüssel'}, der auf ${lastFour} endet: gültig bis ` +
            format.time(new Date(expiresAt)),
        ),
        'Erneuern Sie jeden Schlüssel, der noch gebraucht wird: Der neue erhält denselben Namen, dieselben Rechte und ' +
          'Netze, und der alte gilt noch eine Weile. Einen Schlüssel, den niemand braucht, können Sie ablaufen lassen.',
      ],
      ...(place.appUrl !== undefined && { links: [{ label: 'Matte öffnen', url: place.appUrl }] }),
      reason:
        'Sie haben diese Schlüssel angelegt oder sind Inhaber ihres Arbeitsbereichs. Solche E-Mails lassen sich nicht ' +
        'abschalten.',
    }
  },
  notification: ({ event, title, body }, { appUrl, supportUrl }) => ({
    subject: title,
    paragraphs: [body],
    links: [
      ...(appUrl === undefined ? [] : [{ label: 'Matte öffnen', url: appUrl }]),
      ...(supportUrl === undefined || !isSecondFactor(event)
        ? []
        : [{ label: 'Betreiber kontaktieren', url: supportUrl }]),
    ],
    reason: isSecurity(event)
      ? 'Dies betrifft die Sicherheit Ihres Kontos. Solche E-Mails lassen sich nicht abschalten.'
      : 'Sie haben ein Konto bei Matte, und solche E-Mails sind eingeschaltet.',
    ...(appUrl !== undefined &&
      !isSecurity(event) && {
        settings: { label: 'E-Mails auswählen', url: `${appUrl}/settings/notifications` },
      }),
  }),
}
