import { defineText } from '../../text/text.ts'

export const notificationsText = defineText({
  en: {
    title: 'Notifications',
    lede: 'From all your workspaces, for 90 days.',
    settings: 'Choose what you are told',
    all: 'All',
    unread: 'Unread',
    show: 'Show',
    readAll: 'Mark all as read',
    read: 'Mark as read',
    readOf: (title: string) => `Mark as read: ${title}`,
    open: 'Open',
    isNew: 'New',
    none: 'You have no notifications.',
    noneUnread: 'You have read everything.',
  },
  de: {
    title: 'Mitteilungen',
    lede: 'Aus allen Ihren Arbeitsbereichen, 90 Tage lang.',
    settings: 'Mitteilungen auswählen',
    all: 'Alle',
    unread: 'Ungelesen',
    show: 'Anzeigen',
    readAll: 'Alle als gelesen markieren',
    read: 'Als gelesen markieren',
    readOf: (title: string) => `Als gelesen markieren: ${title}`,
    open: 'Öffnen',
    isNew: 'Neu',
    none: 'Sie haben keine Mitteilungen.',
    noneUnread: 'Sie haben alles gelesen.',
  },
})
